"""Events as a real run writes them, in few words: for tests that read as specifications."""

from __future__ import annotations

from typing import Any

from unstall.journal.events import (
    Event,
    Frame,
    HostSampled,
    RunStarted,
    SourceRead,
    StackSampled,
    StallBegan,
    StepsEnded,
    ThreadsSeen,
    ThreadStack,
)
from unstall.journal.reader import Journal

T0 = 1_700_000_000.0
FOLDER = "/home/user/project"
SITE = "/usr/lib/python3.11/site-packages"


def py(file: str, function: str, line: int = 1) -> Frame:
    """A Python frame. A relative file is the user's own."""
    return {
        "function": function,
        "file": file if file.startswith("/") else f"{FOLDER}/{file}",
        "line": line,
        "module": "",
    }


def lib(file: str, function: str, line: int = 1) -> Frame:
    """A frame of an installed package, e.g. lib('keras/src/…/trainer.py', 'fit')."""
    return py(f"{SITE}/{file}", function, line)


def native(function: str, module: str = "libtensorflow_cc.so.2") -> Frame:
    return {"function": function, "file": module, "line": 0, "module": module}


def thread(*frames: Frame, name: str = "", id: int = 2, active: bool = False) -> ThreadStack:
    """Innermost frame first."""
    return {"id": id, "name": name, "active": active, "frames": list(frames)}


def main(*frames: Frame, active: bool = False) -> ThreadStack:
    return thread(*frames, name="MainThread", id=1, active=active)


def stacks(*threads: ThreadStack, at: float, native: bool = False, main: bool = True, pid: int = 1) -> StackSampled:
    return StackSampled(at=T0 + at, pid=pid, native=native, seconds=0.05, threads=list(threads), main=main)


def started(command: str = "python train.py") -> RunStarted:
    return RunStarted(at=T0, mode="run", command=command.split(), folder=FOLDER, pid=1)


def steps(
    first: int,
    last: int,
    at: float,
    each_s: float = 0.2,
    wait_s: float | None = None,
    loss: float | None = None,
    phase: str = "train",
) -> StepsEnded:
    """Steps first..last that ended at `at`; wait_s is the input wait of each step."""
    count = last - first + 1
    return StepsEnded(
        at=T0 + at, phase=phase, first=first, last=last, seconds=count * each_s, busy_s=count * each_s, longest_s=each_s,
        wait_s=None if wait_s is None else wait_s * count, waited_steps=0 if wait_s is None else count,
        loss=loss, loss_is_finite=None if loss is None else True,
    )  # fmt: skip


def stalled(
    since: float,
    at: float,
    phase: str = "train",
    step: int = 381,
    usual_s: float | None = 0.2,
    waiting_for_input: bool = False,
    sure: bool = True,
) -> StallBegan:
    return StallBegan(
        at=T0 + at,
        phase=phase,
        step=step,
        epoch=0,
        since=T0 + since,
        usual_s=usual_s,
        limit_s=8.0,
        waiting_for_input=waiting_for_input,
        sure=sure,
    )


def host(at: float, cpu_cores: float = 0.0, interval_s: float = 1.0, **more: Any) -> HostSampled:
    fields = {"total_bytes": 16 << 30, "available_bytes": 8 << 30, **more}
    return HostSampled(at=T0 + at, interval_s=interval_s, cpu_cores=cpu_cores, **fields)


def journal(*events: Event, now: float | None = None) -> Journal:
    return Journal(events, now=None if now is None else T0 + now)


def sleeper(
    id: int = 1,
    asleep_s: float | None = 60.0,
    call: str | None = "futex",
    on: str | None = None,
    name: str = "python",
    runs: int = 10,
    cpu_ms: float = 50.0,
    timed: bool = False,
) -> dict[str, object]:
    """A thread as the kernel tells it."""
    return {"id": id, "name": name, "asleep_s": asleep_s, "runs": runs, "cpu_ms": cpu_ms, "call": call, "on": on, "timed": timed}


def kernel(*threads: dict[str, object], at: float, pid: int = 1, main: bool = True) -> ThreadsSeen:
    return ThreadsSeen(at=T0 + at, pid=pid, main=main, threads=list(threads))


def source(file: str, line: int, **facts: Any) -> SourceRead:
    """A line of the user's: source('loader.py', 43, awaits=['self.b'], holds=['self.a'])."""
    path = file if file.startswith("/") else f"{FOLDER}/{file}"
    return SourceRead(at=T0 + 111, file=path, line=line, **facts)


def stuck(*events: Event, cpu: float = 0.0, mode: str = "run", now: float = 112, **stall: Any) -> Journal:
    """A run that has stood still since second 100, with what was seen in it, and a CPU that idles."""
    run_started = RunStarted(at=T0, mode=mode, command=["python", "train.py"], folder=FOLDER, pid=1)
    hosts = [host(second, cpu) for second in range(101, int(now))]
    return journal(run_started, steps(300, 380, at=100), stalled(**{"since": 100, "at": 108, **stall}), *events, *hosts, now=now)


def three(*threads: ThreadStack, native: bool = False, main: bool = True, pid: int = 1) -> tuple[StackSampled, ...]:
    """Three samples in which these threads stand where they stand."""
    return tuple(stacks(*threads, at=at, native=native, main=main, pid=pid) for at in (109, 110, 111))
