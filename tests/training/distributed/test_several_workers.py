"""Several workers on JAX, for real: their update is that of one, and a run goes on with another number of them."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.resume import new_run

from tests.training.distributed.worker_processes import QUIET, TINY, live, output
from unstall.base.exit_codes import DONE, INTERRUPTED
from unstall.config.settings import apply_changes
from unstall.journal.events import TrainingBegan, WorkerJoined
from unstall.journal.reader import FolderTail, Journal
from unstall.journal.run_folder import RunFolder
from unstall.training.checkpoint.store import Checkpoints
from unstall.training.distributed.engines import local

pytestmark = pytest.mark.jax
ROOT = Path(__file__).parents[3]
IS_EVERY = os.environ.get("UNSTALL_EVERY_BACKEND") == "1"  # families that take long to compile
FLOOR = 1e-3  # of the largest value of all: what is smaller is the rest of a cancellation


def furthest(these: dict[str, Any], those: dict[str, Any], kind: str) -> float:
    """As a share of the largest value of each."""
    largest = {name: float(np.abs(value).max()) for name, value in those.items() if name.startswith(kind)}
    floor = FLOOR * max(largest.values())
    return max(float(np.abs(these[name] - those[name]).max()) / max(scale, floor) for name, scale in largest.items())


# --- one update ---


def steps(folder: Path, workers: int, *cases: str) -> list[dict[str, dict[str, Any]]]:
    """What each worker has after a few steps: by case, 'ssd_tiny' or 'ssd_tiny:1' with so many images at once."""
    program = str(Path(__file__).with_name("steps_together.py"))
    processes = []
    for who in local.build_process_envs({}, workers):
        path = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        env = {**os.environ, **QUIET, **who.as_environment(), "PYTHONPATH": path}
        command = [sys.executable, program, str(folder / f"after-{workers}"), *cases]
        processes.append(subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True))
    for process in processes:
        _, said = process.communicate(timeout=250)
        assert process.returncode == 0, said[-3000:]
    found = []
    for worker in range(workers):
        files = {case: folder / f"after-{workers}-{case.replace(':', '-')}.{worker}.npz" for case in cases}
        found.append({case: dict(np.load(file)) for case, file in files.items()})
    return found


def test_two_workers_make_the_update_of_one_whole_or_in_parts(tmp_path: Path) -> None:
    """SSD shares its losses by what the whole batch holds; Faster R-CNN draws samples by the images' places in it."""
    others = ("retinanet_tiny", "faster_rcnn_tiny", "ssd_tiny", "faster_rcnn_tiny:1") if IS_EVERY else ()
    (one,) = steps(tmp_path, 1, "ssd_tiny", *others[:2])
    first, second = steps(tmp_path, 2, "ssd_tiny:1", *others)
    for case, together in first.items():
        alone = one[case.partition(":")[0]]
        assert together["told"] == pytest.approx(alone["told"], rel=1e-5), case
        for kind, most in (("weights/", 1e-5), ("average/", 1e-5), ("momentum/", 1e-4)):
            assert furthest(together, alone, kind) < most, (case, kind)
        differing = [name for name, value in together.items() if second[case][name].tobytes() != value.tobytes()]
        assert not differing, "both workers have the same, to the bit"
    assert furthest(_before(one["ssd_tiny"]), one["ssd_tiny"], "weights/") > 1e-4, "nothing was learned, so nothing is shown"


def _before(arrays: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix("before/"): value for name, value in arrays.items() if name.startswith("before/")}


# --- a run ---


@cache
def journal(run: RunFolder) -> Journal:
    return Journal(FolderTail(run.path).read())


def scores(run: RunFolder) -> list[float]:
    with run.history_path.open() as file:
        return [float(row[name]) for row in csv.DictReader(file) for name in ("AP", "AR_100")]


def kept(run: RunFolder) -> tuple[int, dict[str, Any]]:
    saved = Checkpoints(run.checkpoints_path, 1).newest()
    assert saved is not None
    return saved.step, saved.arrays


def test_a_run_goes_on_with_another_number_of_workers_as_if_nothing_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 → 2 → 1: SIGTERM ends it twice, once at one worker of two, and each time it was saved. The workers end together, also
    where one of them is slow to end."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    undisturbed, run = (new_run(tmp_path / name, apply_changes(TINY, {"epochs": 3})) for name in ("undisturbed", "disturbed"))
    assert live(undisturbed, 1) == [DONE], output(undisturbed)
    assert live(run, 1, asked_at=2) == [INTERRUPTED], output(run)
    run.write_settings({**run.read_settings(), "num_workers": 2})
    after_first, _ = kept(run)
    assert live(run, 2, asked_at=after_first + 3, asked=1, late=1) == [INTERRUPTED, INTERRUPTED], output(run)
    after_second, _ = kept(run)
    run.write_settings({**run.read_settings(), "num_workers": 1})
    assert live(run, 1) == [DONE], output(run)

    began = [event.from_step for event in journal(run).of(TrainingBegan)]
    assert began == [0, after_first, after_second] and after_first + 3 <= after_second
    second = journal(run.of_worker(1))
    assert [event.from_step for event in second.of(TrainingBegan)] == [after_first], "it began where the first is"
    assert (second.of(WorkerJoined)[0].worker, second.of(WorkerJoined)[0].of) == (1, 2)
    (step, arrays), (whole, expected) = kept(run), kept(undisturbed)
    assert step == whole
    for kind in ("weights/", "average/"):
        assert furthest(arrays, expected, kind) < 1e-5, kind
    assert scores(run) == pytest.approx(scores(undisturbed), abs=1e-6), "also the epoch that two workers have scored together"
