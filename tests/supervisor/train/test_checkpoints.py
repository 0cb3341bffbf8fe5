"""Checkpoints as the supervisor sees them."""

from pathlib import Path

from unstall.journal.run_folder import RunFolder
from unstall.supervisor.train.setup import list_checkpoint_steps, set_aside_after


def saved(run: RunFolder, *names: str) -> None:
    for name in names:
        (run.checkpoints_path / name).mkdir(parents=True)


def test_only_complete_ones_count(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert list_checkpoint_steps(run) == []
    saved(run, "step-000000100", "step-000000020", ".step-000000300.new", "elsewhere")
    assert list_checkpoint_steps(run) == [20, 100]


def test_later_ones_are_set_aside_and_never_lost(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    saved(run, "step-000000020", "step-000000040")
    set_aside_after(run, 20)
    saved(run, "step-000000040")
    set_aside_after(run, 20)
    assert list_checkpoint_steps(run) == [20]
    aside = sorted(path.name for path in (tmp_path / "checkpoints-set-aside").iterdir())
    assert aside == ["step-000000040", "step-000000040-2"]
