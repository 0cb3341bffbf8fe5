"""A real training under its supervisor: killed in its middle, it goes on and ends as if nothing had been."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.supervisor.test_secrets import modes_of
from unstall.config.settings import Settings, as_plain
from unstall.journal import run_folder
from unstall.journal.events import CheckpointCompleted, PlanMade, RunStarted, StepsEnded, TrainingBegan, TrainingEnded
from unstall.journal.reader import FolderTail, Journal
from unstall.journal.run_folder import lock_run

SUPERVISE = """
import sys
from pathlib import Path
from unstall.journal.run_folder import RunFolder
from unstall.supervisor.run.program import RunOptions
from unstall.supervisor.train.training_run import train
sys.exit(train(RunFolder(Path(sys.argv[1])), RunOptions()))
"""
TINY = Settings(
    model="ssd_tiny", detector={"image_size": [64, 64]}, backend="torch", synthetic_images=24, val_split=0.0, batch_size=4, epochs=2,
    checkpoint_interval_steps=2, warmup_steps=2, tensorboard=False, num_input_workers=1,
)  # fmt: skip


@pytest.mark.torch
def test_a_training_that_is_killed_goes_on_to_its_end(tmp_path: Path) -> None:
    run = run_folder.create("train")
    run.write_settings(as_plain(TINY), are_given=True)
    run.write_settings(as_plain(TINY))
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, str(run.path)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        umask=0,
    )  # fmt: skip
    seen, tail = Journal(), FolderTail(run.path)
    while not seen.of(CheckpointCompleted) and process.poll() is None:
        seen.extend(tail.read())
        time.sleep(0.02)
    worker = seen.last(RunStarted)
    assert worker is not None
    os.kill(worker.pid, signal.SIGKILL)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    seen.extend(tail.read())
    (plan,) = seen.of(PlanMade)
    assert (plan.cause, plan.remedy) == ("worker_died", "resume_from_checkpoint")
    first, second = seen.of(TrainingBegan)
    assert first.from_step == 0 and second.from_step == plan.from_step >= 2
    last = seen.last(CheckpointCompleted)
    assert last is not None and last.step == TINY.epochs * first.steps_per_epoch
    assert run.last_weights_path.exists()
    assert modes_of(run.path) == {}  # checkpoints, weights, journals, the page: readable by their owner alone


@pytest.mark.torch
@pytest.mark.parametrize("is_stopped", [False, True], ids=["running", "stopped"])
def test_a_worker_whose_supervisor_is_killed_saves_and_ends(is_stopped: bool, tmp_path: Path) -> None:
    """Nobody would watch it; and it would keep the lock of the run, and the card."""
    settings = replace(TINY, epochs=1000, checkpoint_interval_steps=1000, max_restarts=0)
    run = run_folder.create("train")
    run.write_settings(as_plain(settings), are_given=True)
    run.write_settings(as_plain(settings))
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-c", SUPERVISE, str(run.path)], env=env, stdout=subprocess.DEVNULL) as supervisor:
        seen, tail = Journal(), FolderTail(run.path)
        while not seen.of(StepsEnded) and supervisor.poll() is None:
            seen.extend(tail.read())
            time.sleep(0.02)
        started = seen.last(RunStarted)
        assert started is not None
        worker = psutil.Process(started.pid)
        if is_stopped:
            worker.suspend()
        supervisor.kill()
    try:
        assert not psutil.wait_procs([worker], timeout=240)[1]
    finally:
        if worker.is_running():
            worker.kill()
    seen.extend(tail.read())
    ended, saved = seen.last(TrainingEnded), seen.last(CheckpointCompleted)
    assert ended is not None and saved is not None and (ended.exit_name, ended.step) == ("interrupted", saved.step)
    with lock_run(run):
        pass  # whoever resumes it may
