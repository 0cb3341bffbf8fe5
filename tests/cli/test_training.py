"""`unstall train` with a real training behind it, tiny, on one backend."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import call

TINY = ("--shapes", "16", "--batch-size", "4", "--backend", "torch", "--detector", "image_px=64,64", "--no-tensorboard")


@pytest.mark.torch
def test_a_training_ends_with_a_score_and_its_files(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = call(
        "train", *TINY, "--epochs", "1", "--out", str(run), "--json", "-", XDG_CACHE_HOME=str(tmp_path), OMP_NUM_THREADS="1"
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["exit_code"], told["ending"], told["folder"]) == (0, "done", str(run))
    assert told["preflight"]["answer"] in {"fits", "warns"} and 0 <= told["score"]["figures"]["AP50"] <= 1
    assert {"best_weights", "last_weights", "history", "predictions", "checkpoints"} <= set(told["files"])
    assert "preflight: " in done.stderr and "nothing wrong in what could be seen" in done.stderr
    taken = call("train", *TINY, "--out", str(run))
    assert taken.returncode == 2 and f"Go on with it: unstall train --resume {run}" in taken.stderr
