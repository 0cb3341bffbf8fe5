"""The supervisor of several workers, over workers that need no framework: one dies, is killed, stops or stands still."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.supervisor.train.test_training_run import wait_until, whole
from unstall.config.settings import Settings, as_plain
from unstall.diagnosis.workers.step_times import MIN_GROUPS
from unstall.journal import run_folder
from unstall.journal.events import (
    PlanMade,
    PlanVerified,
    RunStarted,
    StepsEnded,
    TrainingBegan,
    VerdictReached,
    WorkerFaltered,
    WorkerJoined,
    WorkerRecovered,
)
from unstall.journal.run_folder import RunFolder

WORKER = Path(__file__).with_name("small_worker_group.py")
SUPERVISE = f"""
import sys
from pathlib import Path
from unstall.journal.run_folder import RunFolder
from unstall.supervisor.train import several_workers
from unstall.supervisor.run.program import RunOptions
from unstall.supervisor.train.training_run import train
several_workers.GONE_S = 1.0  # tests need not wait for it
sys.exit(train(RunFolder(Path(sys.argv[1])), RunOptions(), [sys.executable, {str(WORKER)!r}]))
"""
ROOT = Path(__file__).parents[3]


def a_run(**faults: list[dict[str, Any]]) -> RunFolder:
    """`of_1=[…]`: what befalls worker 1 in each of its lives."""
    run = run_folder.create("train")
    plain = as_plain(Settings(batch_size=16, num_workers=2, backend="jax"))
    run.write_settings(plain, are_given=True)
    run.write_settings(plain)
    for worker, faults_of_worker in faults.items():
        (run.path / f"fates-{worker[3:]}.json").write_text(json.dumps(faults_of_worker))
    return run


@contextmanager
def supervisor(run: RunFolder) -> Iterator[subprocess.Popen[str]]:
    """It is killed where a test fails, which would else wait for the end of its workers."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", SUPERVISE, str(run.path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def supervised(run: RunFolder) -> tuple[int, str]:
    with supervisor(run) as process:
        _, said = process.communicate(timeout=240)
    return process.returncode, said


def lives(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(run.path.glob("started-*.json"))]


def pids(run: RunFolder) -> list[int]:
    """Of the workers that were started last."""
    return [whole(run.of_worker(worker)).of(RunStarted)[-1].pid for worker in (0, 1)]


def is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def has_started(run: RunFolder) -> Callable[[], bool]:
    return lambda: all(whole(run.of_worker(worker)).of(TrainingBegan) for worker in (0, 1))


def test_workers_that_end_well_are_left_alone_and_each_has_its_own_journal() -> None:
    run = a_run()
    code, said = supervised(run)
    assert code == 0, said
    journals = [whole(run.of_worker(worker)) for worker in (0, 1)]
    assert [journal.of(WorkerJoined)[0].worker for journal in journals] == [0, 1]
    assert not journals[0].of(PlanMade) and not journals[0].of(WorkerFaltered)
    story = run.read_story()
    assert story is not None and story["state"] == "done"


def test_a_worker_that_is_killed_is_named_and_all_go_on_from_the_last_checkpoint() -> None:
    run = a_run(of_1=[{"at": 25, "signal": signal.SIGKILL}])
    code, said = supervised(run)
    assert code == 0, said
    journal = whole(run)
    (faltered,), (plan,) = journal.of(WorkerFaltered), journal.of(PlanMade)
    assert (faltered.worker, faltered.of, faltered.how) == (1, 2, "died")
    assert plan.happened.startswith("Worker 1 of 2 was ended by SIGKILL in step 2") and plan.from_step == 20
    assert "Worker 1 of 2 was ended by SIGKILL" in said
    assert journal.of(PlanVerified)
    assert [len(lives(run.of_worker(worker))) for worker in (0, 1)] == [2, 2]
    assert [began.from_step for began in whole(run.of_worker(1)).of(TrainingBegan)] == [0, 20]
    first, second = (life["met_at"] for life in lives(run))
    assert first != second, "the next life meets at another port"


def test_memory_that_runs_out_with_one_worker_is_treated_as_with_one() -> None:
    run = a_run(of_1=[{"at": 5, "exit": 76}])
    code, said = supervised(run)
    assert code == 0, said
    (plan,) = whole(run).of(PlanMade)
    assert plan.change == {"micro_batch_size": 4} and "with worker 1 of 2" in plan.happened
    assert lives(run)[1]["micro_batch_size"] == 4 and lives(run.of_worker(1))[1]["micro_batch_size"] == 4


def test_a_worker_that_is_stopped_is_named_with_its_stack_and_all_are_started_again() -> None:
    run = a_run(of_1=[{"at": 15, "signal": signal.SIGSTOP}])
    code, said = supervised(run)
    assert code == 0, said
    (faltered,), (plan,) = whole(run).of(WorkerFaltered), whole(run).of(PlanMade)
    assert (faltered.worker, faltered.how) == (1, "stopped")
    assert any("cause_fault" in line for line in faltered.stack)
    assert plan.happened.startswith("Worker 1 of 2 stood still") and plan.from_step == 10
    assert "worker 1 of 2 stopped at" in said


def test_a_worker_that_stands_still_is_told_from_the_one_that_waits_for_it() -> None:
    run = a_run(of_1=[{"at": 30, "sleeps": 60}])
    with supervisor(run) as process:
        wait_until(lambda: bool(whole(run).of(WorkerFaltered)))
        (faltered,) = whole(run).of(WorkerFaltered)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=240)
    assert (faltered.worker, faltered.how) == (1, "stands still")
    assert "reads_from_a_disk_that_is_gone" in faltered.stack[0]
    assert process.returncode == 75, said


def test_a_worker_that_slows_is_named_with_why_and_its_stack_and_nothing_is_said_before_or_done_about_it() -> None:
    """Its process is stopped for most of the time, but never for long."""
    run = a_run(of_0=[{"steps": 10_000}], of_1=[{"steps": 10_000}])
    with supervisor(run) as process:
        wait_until(has_started(run))
        wait_until(lambda: len(whole(run).of(StepsEnded)) > 8 + 2 * MIN_GROUPS)  # the first eight are told one by one
        assert not whole(run).of(WorkerFaltered), "all is well"
        slowed_at = time.time()
        with stopped_for_most_of_the_time(pids(run)[1]):
            wait_until(lambda: bool(whole(run).of(WorkerFaltered)))
        (faltered,) = whole(run).of(WorkerFaltered)
        wait_until(lambda: bool(whole(run).of(WorkerRecovered)))
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=240)
    assert (faltered.worker, faltered.how, faltered.actions != []) == (1, "slows", True)
    assert "its process is stopped, by a signal or a debugger, for" in faltered.why
    assert any("small_worker_group.py" in line for line in faltered.stack)
    events = [event for kind in (WorkerFaltered, VerdictReached, WorkerRecovered) for event in whole(run).of(kind)]
    assert "worker_slow" in said and "holds the other worker" in said, (said, events)
    assert not whole(run).of(PlanMade) and faltered.at > slowed_at


def test_one_that_waits_for_a_worker_whose_process_is_gone_is_not_left_waiting() -> None:
    """It was on another machine, and what carries the numbers of a step has not noticed."""
    run = a_run(of_1=[{"at": 15, "loses": 7}])
    code, said = supervised(run)
    assert code == 0, said
    (plan,) = whole(run).of(PlanMade)
    assert plan.happened == "Worker 1 of 2 lost the others in step 15: worker 7 of 2 is gone."


@contextmanager
def stopped_for_most_of_the_time(pid: int) -> Iterator[None]:
    is_over = threading.Event()

    def stop_and_go() -> None:
        while not is_over.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.24)
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.06)

    thread = threading.Thread(target=stop_and_go)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("asked", ["the supervisor", "worker 1"])
def test_whoever_is_asked_to_end_all_save_and_end(asked: str) -> None:
    run = a_run()
    with supervisor(run) as process:
        wait_until(has_started(run))
        before = pids(run)
        os.kill(process.pid if asked == "the supervisor" else before[int(asked[-1])], signal.SIGTERM)
        wait_until(lambda: not any(is_alive(pid) for pid in before))
        _, said = process.communicate(timeout=240)
    ends = [whole(run.of_worker(worker)).of(TrainingBegan) for worker in (0, 1)]
    if asked == "the supervisor":
        assert process.returncode == 75, said
    else:  # somebody else's doing: the run goes on from what was saved
        assert process.returncode == 0, said
        assert "was asked to end by somebody else" in whole(run).of(PlanMade)[0].happened
        assert all(began[1].from_step > 0 for began in ends)


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_no_worker_is_left_behind_when_the_supervisor_is_killed(stopped: bool) -> None:
    """Not even one that was stopped, which hears of no other signal than the one by which it goes on."""
    run = a_run(of_0=[{"at": 39, "sleeps": 30}])
    with supervisor(run) as process:
        wait_until(has_started(run))
        before = pids(run)
        if stopped:
            os.kill(before[1], signal.SIGSTOP)
        process.kill()
        wait_until(lambda: not any(is_alive(pid) for pid in before))


def test_a_port_that_is_taken_is_changed_for_another() -> None:
    run = a_run(of_0=[{"at": 0, "exit": 80}])
    code, said = supervised(run)
    assert code == 0, said
    assert "was taken by another program" in whole(run).of(PlanMade)[0].happened
    first, second = (life["met_at"] for life in lives(run))
    assert first != second


def test_a_user_s_mistake_that_one_worker_finds_ends_all_with_its_code() -> None:
    run = a_run(of_1=[{"at": 3, "exit": 2}])
    code, said = supervised(run)
    assert code == 2, said
    assert not whole(run).of(PlanMade)
    assert not any(is_alive(pid) for pid in pids(run))
