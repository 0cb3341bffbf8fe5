"""`unstall train` with a real training behind it, tiny, on one backend."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.test_cli import call

TINY = (
    "--synthetic-images",
    "16",
    "--batch-size",
    "4",
    "--backend",
    "torch",
    "--detector",
    "image_size=64,64",
    "--no-tensorboard",
)


def shapes_of(cache: Path) -> str:
    """The embedded pictures, as they were drawn for the training."""
    (folder,) = (cache / "unstall").glob("shapes-*")
    return str(folder)


@pytest.mark.torch
def test_a_training_ends_with_a_score_and_its_files(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = call(
        "train", *TINY, "--epochs", "1", "--out", str(run), "--json", "-", XDG_CACHE_HOME=str(tmp_path), OMP_NUM_THREADS="1"
    )
    assert done.returncode == 0, done.stderr
    plain = json.loads(done.stdout)
    assert (plain["exit_code"], plain["exit_name"], plain["folder"]) == (0, "done", str(run))
    assert plain["preflight"]["status"] in {"ok", "warning"} and 0 <= plain["score"]["figures"]["AP50"] <= 1
    assert {"best_weights", "last_weights", "history", "predictions", "checkpoints"} <= set(plain["files"])
    assert "preflight: " in done.stderr and "nothing wrong in what could be seen" in done.stderr
    evaluated = call(
        "evaluate", "--weights", str(run / "best.safetensors"), "--data", shapes_of(tmp_path), "--backend", "torch", "--json", "-"
    )
    assert evaluated.returncode == 0, evaluated.stderr
    score = json.loads(evaluated.stdout)
    assert (
        score["scored"]["images"] == "held_out"
        and score["scored"]["total"] == 16
        and score["images"] == score["scored"]["count"] < 16
    )
    assert evaluated.stderr.startswith(f"Scoring {score['images']} held-out images of 16")
    assert score["figures"] == plain["score"]["figures"], "the same images as the training itself has scored"
    taken = call("train", *TINY, "--out", str(run))
    assert taken.returncode == 2 and f"Go on with it: unstall train --resume {run}" in taken.stderr
    for checkpoint in (run / "checkpoints").iterdir():
        (checkpoint / "manifest.json").write_text("{")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    refused = call("train", "--resume", str(run), "--epochs", "2")
    assert refused.returncode == 2 and "manifest.json is cut off or damaged" in refused.stderr, refused.stderr
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before, "nothing is written or deleted"
    # The way on that it names really works.
    words = shlex.split(refused.stderr.splitlines()[-1])
    assert words[:2] == ["unstall", "train"] and words[-2:] == ["--weights", str(run / "last.safetensors")]
    again = call(*words[1:], "--out", str(tmp_path / "again"), XDG_CACHE_HOME=str(tmp_path), OMP_NUM_THREADS="1")
    assert again.returncode == 0, again.stderr
    plain = json.loads((tmp_path / "again" / "settings.json").read_text())
    assert (plain["synthetic_images"], plain["epochs"], plain["detector"]) == (16, 1, {"image_size": [64, 64]})
