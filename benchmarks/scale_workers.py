"""Simulated workers: they write what a worker and its watcher write, with the journal's own writer, at their rates.

    python -m benchmarks.scale_workers FOLDER FIRST LAST OF STOPS KIND RATES

RATES are those of a run's first five minutes ("early": each second a group of steps, a sample of the host every 3 s, of the
card every 5 s, a stack every 15 s), or of one that has gone well for longer ("calm": 5, 15, 20 and 120 s). The file `stop`
in the folder says when worker STOPS stops: "gone", its machine is off and writes nothing more; or "stuck", its program
waits for a lock and its watcher says so. All others then wait in a collective operation, and their watchers write what they
write then: the stall, three samples of stacks and threads, a native one, a verdict.
"""

from __future__ import annotations

import heapq
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from unstall.journal.events import (
    ClusterSeen,
    DeviceSampled,
    Event,
    FitBegan,
    Frame,
    HostSampled,
    MachineSeen,
    MembershipSeen,
    ProgramStarted,
    RunStarted,
    StackSampled,
    StallBegan,
    StepsEnded,
    ThreadsSeen,
    ThreadStack,
    VerdictReached,
)
from unstall.journal.writer import JournalWriter
from unstall.supervisor.timeouts import PATIENCE
from unstall.supervisor.watch import STALL_SAMPLE_EVERY_S, STALL_SAMPLES, TICK_S

EVERY_S = {
    "early": {"steps": 1.0, "host": 3.0, "device": 5.0, "profile": 15.0},
    "calm": {"steps": 5.0, "host": 15.0, "device": 20.0, "profile": 120.0},
}
NATIVE_TAKES_S = 3.0
COORDINATOR = "10.0.0.1:1234"
WAITS, BLOCKED = ("collective_stuck", "train.py:36"), ("lock_deadlock", "loader.py:43")


def stack(*innermost: Frame) -> list[ThreadStack]:
    """One thread, of the size that it has in journals of real runs: 4 KB."""
    around = [frame(f"{SITE}/keras/src/trainers/trainer.py", f"function_{number}", number) for number in range(26)]
    return [{"id": 1, "name": "MainThread", "active": False, "frames": [*innermost, *around]}]


def frame(file: str, function: str, line: int) -> Frame:
    return {"function": function, "file": file, "line": line, "module": ""}


SITE = "/usr/lib/python3.11/site-packages"
LINE = frame("/home/user/train.py", "average_gradients", 36)
MOVES = stack(LINE)
REDUCES = stack(frame(f"{SITE}/torch/distributed/distributed_c10d.py", "all_reduce", 9), LINE)
LOCKED = stack(frame("/usr/lib/python3.11/threading.py", "acquire", 9), frame("/home/user/loader.py", "rows", 43))
# Natively 12 KB, and 1 KB for the kernel's account of the threads that sleep: also as in real ones, in the median or above.
NATIVE = [thread for _ in range(3) for thread in MOVES]
KERNEL = [
    {"id": number, "name": "tf_pool", "asleep_s": 9.1, "runs": 90, "cpu_ms": 51.2, "call": "futex", "on": None, "timed": False}
    for number in range(1, 11)
]


@dataclass
class Worker:
    number: int
    of: int
    folder: Path
    draw: random.Random
    step: int = 0
    is_stalled: bool = False
    inside: JournalWriter = field(init=False)
    watcher: JournalWriter = field(init=False)

    def begin(self) -> None:
        run = self.folder / f"2026-01-01-000000-train-worker{self.number}"
        run.mkdir()
        self.inside = JournalWriter(run / f"events-probe-{1000 + self.number}.jsonl")
        self.watcher = JournalWriter(run / f"events-watcher-{2000 + self.number}.jsonl")
        now, pid = time.time(), 1000 + self.number
        host = f"node-{self.number}"
        event = MembershipSeen(at=now, pid=pid, source="RANK", worker=self.number, of=self.of, coordinator=COORDINATOR)
        self.watcher.write(RunStarted(at=now, mode="run", command=["python", "train.py"], folder="/home/user", pid=pid))
        self.watcher.write(MachineSeen(at=now, hostname=host, boot_id=host, addresses=[f"10.0.{self.number}"]))
        self.watcher.write(event)
        self.inside.write(ProgramStarted(at=now, pid=pid, python="3.11.7", argv=["train.py"]))
        self.inside.write(FitBegan(at=now, api="keras", backend="jax", epochs=100, steps_per_epoch=1000))

    def usual(self, kind: str) -> None:
        now = time.time()
        if kind == "steps":
            first, self.step = self.step, self.step + 10
            self.inside.write(
                StepsEnded(
                    at=now, first=first, last=self.step - 1, seconds=1.0, busy_s=0.98, longest_s=0.12, wait_s=0.02, loss=0.5
                )
            )
        elif kind == "host":
            cores = 0.01 if self.is_stalled else 1.0 + self.draw.random()
            self.watcher.write(HostSampled(at=now, interval_s=3.0, cpu_cores=cores, rss_bytes=4 << 30, threads=60))
        elif kind == "device":
            self.watcher.write(DeviceSampled(at=now, name="NVIDIA H100", used_bytes=60 << 30, total_bytes=80 << 30))
        else:
            self.watcher.write(StackSampled(at=now, pid=1, seconds=0.05, threads=MOVES))

    def stalls(self, step: int, since: float, is_blocked: bool) -> Iterator[tuple[float, list[Event]]]:
        """What its watcher writes, and how long after the last sign of progress."""
        began = PATIENCE["train"].idle_s + self.draw.uniform(0, 2 * TICK_S)
        stall = StallBegan(phase="train", step=step, since=since, usual_s=0.1, limit_s=PATIENCE["train"].idle_s)
        yield began, [stall]
        looks: list[Event] = [ThreadsSeen(pid=1, threads=KERNEL), StackSampled(pid=1, threads=LOCKED if is_blocked else REDUCES)]
        for look in range(STALL_SAMPLES):
            yield began + look * STALL_SAMPLE_EVERY_S, looks
        done = began + STALL_SAMPLES * STALL_SAMPLE_EVERY_S
        cause, where = BLOCKED if is_blocked else WAITS
        result = VerdictReached(cause=cause, certainty="likely", where=where, summary="The training waits.")
        yield done, [ClusterSeen(pid=1, connections=[{"to": COORDINATOR, "pid": None}]), result]
        yield done + NATIVE_TAKES_S, [StackSampled(pid=1, native=True, threads=NATIVE)]


class Schedule:
    """What is due next, of all workers of this process."""

    def __init__(self, workers: list[Worker], folder: Path, stops: int, kind: str, rates: str) -> None:
        self._workers, self._folder, self._stops, self._kind = workers, folder, stops, kind
        self._every_s = EVERY_S[rates]
        self._due: list[tuple[float, int, str, int]] = []
        self._later: dict[tuple[int, int], list[Event]] = {}
        self._stopped_at: float | None = None
        self.latest_s = 0.0  # a machine that is too busy simulates too few
        now = time.monotonic()
        for place, worker in enumerate(workers):
            for name, every_s in self._every_s.items():
                heapq.heappush(self._due, (now + worker.draw.uniform(0, every_s), place, name, 0))

    def run(self) -> None:
        """Until the file `end` is there."""
        checked = 0.0
        while True:
            now = time.monotonic()
            if now - checked > 0.2:
                checked = now
                if (self._folder / "end").exists():
                    return
                self._look_for_stop(now)
            if self._due[0][0] > now:
                time.sleep(min(0.02, self._due[0][0] - now))
            else:
                self._do_next(now)

    def _look_for_stop(self, now: float) -> None:
        if self._stopped_at is not None or not (self._folder / "stop").exists():
            return
        self._stopped_at = float((self._folder / "stop").read_text())
        since = time.time() - now + self._stopped_at
        step = int(10 * self._stopped_at)  # in lock-step all are in the same
        for place, worker in enumerate(self._workers):
            if self._is_gone(worker):
                continue
            for number, (after, events) in enumerate(worker.stalls(step, since, worker.number == self._stops)):
                self._later[place, number] = events
                heapq.heappush(self._due, (self._stopped_at + after, place, "stall", number))

    def _is_gone(self, worker: Worker) -> bool:
        return worker.number == self._stops and self._kind == "gone"

    def _do_next(self, now: float) -> None:
        at, place, name, number = heapq.heappop(self._due)
        worker = self._workers[place]
        self.latest_s = max(self.latest_s, now - at)
        worker.is_stalled = self._stopped_at is not None and at >= self._stopped_at
        if name == "stall":
            for event in self._later[place, number]:
                worker.watcher.write(type(event)(**{**event.__dict__, "at": time.time()}))
            return
        if not worker.is_stalled or (name in {"host", "device"} and not self._is_gone(worker)):
            worker.usual(name)
        heapq.heappush(self._due, (at + self._every_s[name], place, name, 0))


def main() -> None:
    folder, (kind, rates) = Path(sys.argv[1]), sys.argv[6:8]
    first, last, of, stops = map(int, sys.argv[2:6])
    workers = [Worker(number, of, folder / "runs", random.Random(number)) for number in range(first, last)]
    for worker in workers:
        worker.begin()
    (folder / f"ready-{first}").touch()
    schedule = Schedule(workers, folder, stops, kind, rates)
    schedule.run()
    (folder / f"late-{first}").write_text(f"{schedule.latest_s:.3f}")


if __name__ == "__main__":
    main()
