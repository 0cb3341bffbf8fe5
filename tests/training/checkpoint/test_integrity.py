"""Whether a run can go on, asked before anything is written to it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from unstall.base.errors import InvalidInputError
from unstall.config.settings import Settings, as_plain
from unstall.journal.run_folder import RunFolder
from unstall.training.checkpoint.integrity import refuse_unresumable
from unstall.training.checkpoint.store import Checkpoints


def a_run(folder: Path, *steps: int) -> RunFolder:
    run = RunFolder(folder / "run")
    run.path.mkdir()
    run.write_settings(as_plain(Settings()))
    checkpoints = Checkpoints(run.checkpoints_path, keep=3)
    for step in steps:
        checkpoints.save({"weights": np.ones(3)}, {"step": step, "epoch": 0})
    checkpoints.wait()
    return run


def with_results(run: RunFolder) -> RunFolder:
    for path in (run.best_weights_path, run.last_weights_path):
        path.write_bytes(b"weights")
    run.history_path.write_text("epoch,loss\n1,2.0\n")
    return run


def damage(run: RunFolder, step: int) -> None:
    (run.checkpoints_path / f"step-{step:09d}" / "arrays.bin").write_bytes(b"")


def test_a_run_with_a_sound_checkpoint_goes_on(tmp_path: Path) -> None:
    run = with_results(a_run(tmp_path, 1, 2))
    refuse_unresumable(run)
    damage(run, 2)
    refuse_unresumable(run)


def test_a_run_that_never_had_a_checkpoint_begins(tmp_path: Path) -> None:
    refuse_unresumable(a_run(tmp_path))


def test_where_all_are_damaged_each_is_named_with_what_is_kept_and_the_way_on(tmp_path: Path) -> None:
    run = with_results(a_run(tmp_path, 1, 2))
    damage(run, 1)
    (run.checkpoints_path / "step-000000002" / "manifest.json").unlink()
    with pytest.raises(InvalidInputError) as refused:
        refuse_unresumable(run)
    said = str(refused.value)
    assert "checkpoints/step-000000002: it has no manifest.json" in said
    assert "checkpoints/step-000000001: arrays.bin has 0 bytes" in said
    assert "best.safetensors, last.safetensors, history.csv (1 epoch)" in said
    assert said.endswith(f"--weights {run.last_weights_path}")


def test_also_before_the_first_epoch_has_ended(tmp_path: Path) -> None:
    """Nothing is there to be lost but the checkpoint itself, which may be mended."""
    run = a_run(tmp_path, 1)
    damage(run, 1)
    with pytest.raises(InvalidInputError, match="all of its checkpoints are damaged"):
        refuse_unresumable(run)


def test_checkpoints_that_were_deleted_are_missed_where_there_are_weights(tmp_path: Path) -> None:
    run = with_results(a_run(tmp_path, 1))
    shutil.rmtree(run.checkpoints_path)
    with pytest.raises(InvalidInputError, match="it has no checkpoint any more"):
        refuse_unresumable(run)


def test_one_that_was_about_to_be_replaced_is_enough(tmp_path: Path) -> None:
    run = with_results(a_run(tmp_path, 1))
    (run.checkpoints_path / "step-000000001").rename(run.checkpoints_path / ".step-000000001.before")
    refuse_unresumable(run)
    newest = Checkpoints(run.checkpoints_path, keep=3).newest()
    assert newest is not None and newest.step == 1
