"""Runs removed: those that were chosen and have ended, wholly, and nothing else."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from tests.board.run_folders import finished, training
from unstall.board import prune
from unstall.board.rows import Row, read_row
from unstall.journal.run_folder import RunFolder


def rows(*runs: RunFolder) -> list[tuple[RunFolder, Row]]:
    return [(run, read_row(run)) for run in runs]


def trained(folder: Path, name: str) -> RunFolder:
    run = finished(folder, name)
    run.write_settings({"model": "ssd_tiny"})
    (run.checkpoints_path / "step-100").mkdir(parents=True)
    (run.checkpoints_path / "step-100" / "state.bin").write_bytes(b"x" * 5000)
    run.best_weights_path.write_bytes(b"weights")
    return run


def pruned(*chosen: prune.RunToPrune) -> tuple[list[str], list[str]]:
    said: list[str] = []
    return [row["run"] for row in prune.prune(list(chosen), said.append)], said


def test_the_newest_stay_and_so_do_those_that_go_on(tmp_path: Path) -> None:
    runs = [finished(tmp_path, f"run-{number}") for number in range(4)]
    live = training(tmp_path, "live").run
    found = prune.select_runs_to_prune(rows(live, *runs), keep=2, checkpoints_only=False)
    assert [each.run.name for each in found] == ["run-0", "run-1"]
    assert pruned(*found) == (["run-0", "run-1"], [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["live", "run-2", "run-3"]


def test_what_is_freed_is_counted(tmp_path: Path) -> None:
    run = trained(tmp_path, "trained")
    (each,) = prune.select_runs_to_prune(rows(run), None, checkpoints_only=False)
    assert each.size_bytes == sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file()) > 5000


def test_checkpoints_may_go_alone(tmp_path: Path) -> None:
    run, watched = trained(tmp_path, "trained"), finished(tmp_path, "watched")
    (each,) = prune.select_runs_to_prune(rows(run, watched), None, checkpoints_only=True)
    assert (each.run.name, each.size_bytes) == ("trained", 5000)
    assert pruned(each) == (["trained"], [])
    assert not run.checkpoints_path.exists() and run.best_weights_path.exists() and run.story_path.exists()


def test_a_run_that_has_begun_again_meanwhile_stays(tmp_path: Path) -> None:
    run = trained(tmp_path, "trained")
    (each,) = prune.select_runs_to_prune(rows(run), None, checkpoints_only=False)
    with (run.path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert pruned(each) == ([], ["trained goes on again: it stays"])
    training(tmp_path, "trained")
    assert pruned(each)[0] == [] and run.path.is_dir()


def test_a_link_is_neither_followed_nor_removed(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = finished(tmp_path_factory.mktemp("elsewhere"), "precious")
    (tmp_path / "link").symlink_to(elsewhere.path)
    assert prune.select_runs_to_prune(rows(RunFolder(tmp_path / "link")), None, checkpoints_only=False) == []
    run = finished(tmp_path, "run")
    run.checkpoints_path.symlink_to(elsewhere.path)
    assert prune.select_runs_to_prune(rows(run), None, checkpoints_only=True) == []
    (each,) = prune.select_runs_to_prune(rows(run), None, checkpoints_only=False)
    assert pruned(each) == (["run"], []) and elsewhere.story_path.is_file()


def test_what_cannot_be_removed_is_said(tmp_path: Path) -> None:
    run = finished(tmp_path, "run")
    (each,) = prune.select_runs_to_prune(rows(run), None, checkpoints_only=False)
    (tmp_path / f"{prune.PREFIX}run").mkdir()
    (tmp_path / f"{prune.PREFIX}run" / "rest").write_text("of an earlier time")
    gone, (said,) = pruned(each)
    assert gone == [] and said.startswith("run could not be removed: ") and run.path.is_dir()
