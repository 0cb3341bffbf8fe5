"""Two real workers under their supervisor: one is killed, then one is stopped, and the run ends as if nothing had been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.resume import new_run

from tests.training.distributed.worker_processes import QUIET, TINY
from unstall.config.settings import apply_changes
from unstall.journal.events import CheckpointCompleted, PlanMade, RunStarted, TrainingBegan, TrainingEnded, WorkerFaltered
from unstall.journal.reader import FolderTail, Journal
from unstall.journal.run_folder import RunFolder

SUPERVISE = """
import sys
from pathlib import Path
from unstall.journal.run_folder import RunFolder
from unstall.supervisor.run.program import RunOptions
from unstall.supervisor.train.training_run import train
sys.exit(train(RunFolder(Path(sys.argv[1])), RunOptions()))
"""
SETTINGS = apply_changes(TINY, {"num_workers": 2, "epochs": 30, "val_split": 0.0, "checkpoint_interval_steps": 3})


class Watched:
    """The run, as its journals tell it while it goes on."""

    def __init__(self, run: RunFolder, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.journals = {worker: Journal() for worker in (0, 1)}
        self._tails = {worker: FolderTail(run.of_worker(worker).path) for worker in (0, 1)}

    def wait_for(self, is_so: Callable[[Journal], bool]) -> None:
        began = time.monotonic()
        while not is_so(self.journals[0]):
            assert self.process.poll() is None and time.monotonic() - began < 200
            for worker, tail in self._tails.items():
                self.journals[worker].extend(tail.read())
            time.sleep(0.05)

    def signal(self, worker: int, number: signal.Signals) -> None:
        os.kill(self.journals[worker].of(RunStarted)[-1].pid, number)

    def saved_since(self, at: float) -> Callable[[Journal], bool]:
        return lambda journal: bool(journal.since(CheckpointCompleted, at)) and len(self.journals[1].of(RunStarted)) > 0


@pytest.mark.jax
def test_a_worker_that_is_killed_or_stopped_is_named_and_the_run_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = new_run(tmp_path / "run", SETTINGS)
    command = [sys.executable, "-c", SUPERVISE, str(run.path)]
    with subprocess.Popen(command, env={**os.environ, **QUIET}, stderr=subprocess.PIPE, text=True) as process:
        watched = Watched(run, process)
        watched.wait_for(watched.saved_since(0.0))
        watched.signal(1, signal.SIGKILL)
        watched.wait_for(lambda journal: len(journal.of(PlanMade)) == 1)
        again = watched.journals[0].of(PlanMade)[0].at
        watched.wait_for(watched.saved_since(again))
        watched.signal(1, signal.SIGSTOP)
        watched.wait_for(lambda journal: len(journal.of(PlanMade)) == 2)
        _, said = process.communicate(timeout=280)
    assert process.returncode == 0, said
    journal = Journal(FolderTail(run.path).read())
    assert [(each.worker, each.of, each.how) for each in journal.of(WorkerFaltered)] == [(1, 2, "died"), (1, 2, "stopped")]
    assert all(each.stack for each in journal.of(WorkerFaltered)), "where it was when it was last seen"
    killed, stopped = journal.of(PlanMade)
    assert killed.happened.startswith("Worker 1 of 2 was ended by SIGKILL")
    assert stopped.happened.startswith("Worker 1 of 2 stood still")
    assert "Worker 1 of 2 was ended by SIGKILL" in said and "worker 1 of 2 stopped" in said
    lives = journal.of(TrainingBegan)
    assert lives[0].from_step == 0
    for began, plan in zip(lives[1:], (killed, stopped), strict=True):
        # From the checkpoint of the plan, or from the next one, which was on its way to the disk when the plan was made.
        assert began.from_step in (plan.from_step, plan.from_step + SETTINGS.checkpoint_interval_steps)
    ended = journal.last(TrainingEnded)
    assert ended is not None and (ended.exit_name, ended.step) == ("done", SETTINGS.epochs * lives[0].steps_per_epoch)
