"""Since when a program that shows nothing of itself stands still."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from unstall.journal.events import HostSampled, RepairsEnded, StackSampled, WorkerFaltered
from unstall.journal.pulse import Beat
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import JournalWriter
from unstall.supervisor.watch import Watch


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(RunFolder(tmp_path), os.getpid(), JournalWriter(tmp_path / "events-watcher-2.jsonl"))


def test_a_program_that_queued_for_a_core_on_a_crowded_machine_stands_still_only_since_then(watch: Watch) -> None:
    now = time.time()
    importing = [HostSampled(at=now - age, interval_s=1.0, cpu_cores=0.1, queued_cores=0.9) for age in range(60, 15, -1)]
    waiting = [HostSampled(at=now - age, interval_s=1.0, cpu_cores=0.0, queued_cores=0.0) for age in range(15, 0, -1)]
    watch.journal.extend([*importing, *waiting])
    watch._judge_progress(None, time.monotonic())
    assert watch.stall is not None
    assert watch.stall.since == pytest.approx(now - 16, abs=0.01)


def test_a_program_that_queues_for_a_core_is_not_late(watch: Watch) -> None:
    now = time.time()
    watch.journal.extend(HostSampled(at=now - age, interval_s=1.0, cpu_cores=0.1, queued_cores=0.9) for age in range(60, 0, -1))
    watch._judge_progress(None, time.monotonic())
    assert watch.stall is None


def saved_before_a_training(now: float) -> Beat:
    """The pulse of a program that has saved a first checkpoint, and of which no step is seen."""
    return Beat("between", now - 200, now - 200, step=-1, epoch=-1, input_since=0.0, pid=os.getpid(), steps_done=0)


def test_a_program_that_works_before_a_training_is_seen_does_not_stand_still(watch: Watch) -> None:
    now = time.time()
    watch.journal.extend(HostSampled(at=now - age, interval_s=1.0, cpu_cores=0.9) for age in range(200, 0, -1))
    watch._judge_progress(saved_before_a_training(time.monotonic()), time.monotonic())
    assert watch.stall is None


def test_a_program_that_idles_before_a_training_is_seen_stands_still_since_it_idles(watch: Watch) -> None:
    now = time.time()
    watch.journal.extend(
        HostSampled(at=now - age, interval_s=1.0, cpu_cores=0.9 if age > 30 else 0.0) for age in range(200, 0, -1)
    )
    watch._judge_progress(saved_before_a_training(time.monotonic()), time.monotonic())
    assert watch.stall is not None
    assert (watch.stall.phase, watch.stall.sure) == ("between", False)
    assert watch.stall.since == pytest.approx(now - 31, abs=0.01)


def test_a_program_that_works_after_steps_were_seen_is_late_by_its_pulse(watch: Watch) -> None:
    now = time.time()
    watch.journal.extend(HostSampled(at=now - age, interval_s=1.0, cpu_cores=0.9) for age in range(200, 0, -1))
    watch._judge_progress(replace(saved_before_a_training(time.monotonic()), steps_done=40, step=40), time.monotonic())
    assert watch.stall is not None and watch.stall.sure


@pytest.fixture
def on_slow_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """A write that takes long moves the journal into a thread of its own."""
    writer = JournalWriter(tmp_path / "events-watcher-2.jsonl")
    watch, write_whole = Watch(RunFolder(tmp_path), os.getpid(), writer), writer._write_whole

    def write_slowly(line: bytes) -> None:
        time.sleep(0.1)
        write_whole(line)

    monkeypatch.setattr(writer, "_write_whole", write_slowly)
    writer._start_thread()
    return watch


def test_what_was_noted_just_now_is_examined_though_the_disk_is_slow(on_slow_disk: Watch) -> None:
    on_slow_disk.note(WorkerFaltered(at=time.time(), worker=1, of=2, how="slows", why="Worker 1 holds the other worker."))
    assert [finding.cause for finding in on_slow_disk.examine().findings] == ["worker_slow"]


def test_what_was_noted_just_now_is_told_though_the_disk_is_slow(on_slow_disk: Watch) -> None:
    """That a run is given up is noted after its last diagnosis, and then told."""
    on_slow_disk.note(RepairsEnded(at=time.time(), cause="worker_died", why="It came back at the same step."))
    on_slow_disk.read_noted()
    assert on_slow_disk.journal.last(RepairsEnded) is not None


def test_a_stall_is_judged_when_the_stacks_of_all_processes_can_be_compared(tmp_path: Path) -> None:
    """However long ago the last diagnosis was. The children of a program are looked at from the second sample on."""
    program = tmp_path / "program.py"
    program.write_text('import os, time\nif os.fork() == 0:\n    print("forked", flush=True)\ntime.sleep(600)\n')
    with subprocess.Popen([sys.executable, str(program)], start_new_session=True, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"forked\n"
            watch = Watch(RunFolder(tmp_path), process.pid, JournalWriter(tmp_path / "events-watcher-2.jsonl"))
            idle = [HostSampled(at=time.time() - age, interval_s=1.0, cpu_cores=0.0) for age in range(200, 0, -1)]
            watch.journal.extend(idle)
            watch._judge_progress(None, time.monotonic())
            diagnosis, until = None, time.monotonic() + 240
            while diagnosis is None and time.monotonic() < until:
                watch._diagnosis_interval.at_once()
                diagnosis = watch._look_at_stall(time.monotonic())
            watch.read()
            looks = [sample.main for sample in watch.journal.of(StackSampled)]
            assert diagnosis is not None and looks.count(True) >= 3 and looks.count(False) >= 2
        finally:
            os.killpg(process.pid, signal.SIGKILL)
