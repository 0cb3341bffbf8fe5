"""`unstall attach`: looks at a process that knows nothing of us, for a few seconds, and says what it sees.

Three looks at the Python stacks tell whether it moves; if it does not and uses no CPU, one look at the native stacks
tells what it waits in. If the process is watched already, its own journal and pulse give the history.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import unstall
from unstall.base.errors import AccessDeniedError, ProcessNotFoundError
from unstall.base.processes import find_other_program, is_python, list_python_processes
from unstall.base.redact.environment import redact_command
from unstall.base.redact.text import register_command, register_variables
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.stalls import BUSY_CORES, IDLE_CORES, STOPPED_SHARE
from unstall.diagnosis.thread_waits import IDLE_CPU_MS, LONG_S, find, is_standing, measure_standing_s, measure_worked_ms
from unstall.journal.events import Event, HostSampled, IdleSeen, RunStarted, SampleFailed, StackSampled, StallBegan, ThreadsSeen
from unstall.journal.pulse import read_pulse
from unstall.journal.reader import Journal, read_folder
from unstall.journal.run_folder import RunFolder
from unstall.journal.stack_frames import get_position, main_thread
from unstall.report.story.run import build_story
from unstall.report.story.threads import describe_stacks as stack_rows
from unstall.report.story.threads import describe_threads as thread_rows
from unstall.sensors import oom_kills, stacks, threads
from unstall.sensors.device import DeviceSampler
from unstall.sensors.host import HostSampler
from unstall.supervisor import inspect
from unstall.supervisor.attach import idle_history
from unstall.supervisor.inspect import sample_native

LOOKS = 3
LOOK_EVERY_S = 0.6
NATIVE_WITHIN_S = 3.0  # the verdict must come within 5 s, with or without the native stacks
CHILDREN = 4
LATEST_LOOK_S = 4.0
NATIVE_WAKES = 2  # so often a thread is put on a CPU when its native stack is read
MIN_WAKES = 2  # of a thread that polls, while it is looked at


def attach(pid: int, native_within_s: float = NATIVE_WITHIN_S) -> dict[str, Any]:
    """The story of what the process does right now. Native stacks count if they are there so long after the beginning."""
    _check(pid)
    began = time.monotonic()
    events: list[Event] = [_introduction(pid)]
    host, device = HostSampler(pid), DeviceSampler()
    first = host.sample()
    target = _python_of(pid, host)
    others = [other for other in list_python_processes(host.tree()) if other != target][:CHILDREN]
    native: list[Event] = []
    looker: threading.Thread | None = None
    looks: list[Event] = []
    kernel = inspect.look_at_threads(target, others)
    for number in range(LOOKS):
        look = stacks.sample(target)
        if isinstance(look, SampleFailed):
            looks.append(_not_python(look, target))
            break
        looks.append(look)
        if number in {0, 1}:
            events += [stacks.sample(other, main=False) for other in others]
        if number == 1:
            kernel += inspect.look_at_threads(target, others)
            if _stands_still(looks) and (measure_worked_ms(kernel, target, target) or 0.0) <= IDLE_CPU_MS:
                looker = threading.Thread(target=lambda: native.append(sample_native(target)), daemon=True)
                looker.start()
        if number < LOOKS - 1:
            time.sleep(LOOK_EVERY_S)
    earlier = idle_history.recall(target, kernel, _last_sample(looks))
    if _stands_still(looks):
        _wait_until_it_is_late([*earlier, *kernel], target, began)
        looks.append(stacks.sample(target))
        kernel += inspect.look_at_threads(target, others)
    kernel = [*earlier, *kernel]
    events += [*kernel, *inspect.look_around(target, others, [*looks, *events])]
    sampled = _without_our_stop(first, host.sample())
    if looker is not None:
        looker.join(max(0.0, native_within_s - (time.monotonic() - began)))
    events += looks
    events += native[:1]  # as it is now: the thread may still be on its way
    events += [*device.sample(set(host.tree())), *oom_kills.read_history(pid, host.seen)]
    if device.failure:
        events.append(device.failure)
    if sampled is not None:
        events.append(sampled)
    idle = _idleness(target, looks, kernel, sampled, began)
    idle_history.remember(target, kernel, threads.sample(target), _last_sample(looks), idle)
    stall = _stall(target, looks, kernel, sampled, began)
    events += [event for event in (stall, idle) if event is not None]
    journal = Journal([*_history(pid), *events], now=time.time())
    diagnosis = diagnose(journal)
    return {**build_story(journal, diagnosis), "threads": thread_rows(journal), "stacks": stack_rows(journal)}


def _without_our_stop(first: HostSampled | None, later: HostSampled | None) -> HostSampled | None:
    """A process that was not stopped at first is so by our own look at its native stacks."""
    was_stopped = first is not None and first.stopped_share >= STOPPED_SHARE
    return later if later is None or was_stopped else replace(later, stopped_share=0.0)


def _not_python(failed: SampleFailed, pid: int) -> SampleFailed:
    """The same failure; of a program that is not Python, with its name and what to do instead."""
    name = find_other_program(pid)
    if name is None:
        return failed
    missing = f"process {pid} runs {name}, which is not Python, and it has no child process that runs Python"
    return replace(failed, missing=missing, fix="attach to the Python process itself: `pgrep -af python` lists them")


def _last_sample(looks: list[Event]) -> StackSampled | None:
    return next((look for look in reversed(looks) if isinstance(look, StackSampled)), None)


def _wait_until_it_is_late(kernel: list[ThreadsSeen], pid: int, began: float) -> None:
    """A wait that has only begun is none yet: it is given its time, as far as the verdict can wait."""
    stood = measure_standing_s(kernel, pid, pid)
    if not is_standing(stood):
        left = LATEST_LOOK_S - (time.monotonic() - began)
        time.sleep(max(0.0, min(LONG_S + 0.1 - (stood or 0.0), left)))


def _check(pid: int) -> None:
    if not Path(f"/proc/{pid}").exists():
        raise ProcessNotFoundError(f"There is no process {pid}. Expected the number of a running process, as `ps` shows it.")
    if os.geteuid() != 0:
        try:
            os.kill(pid, 0)
        except PermissionError:
            owner = Path(f"/proc/{pid}").stat().st_uid
            raise AccessDeniedError(
                f"Process {pid} belongs to user {owner}, not to you ({os.geteuid()}). Run it as that user, or with sudo."
            ) from None


def _introduction(pid: int) -> RunStarted:
    try:
        command = [part.decode("utf-8", "replace") for part in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if part]
        folder = str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        command, folder = [], ""
    register_variables(_variables(pid))  # before anything is told: the secrets of that process are not in our environment
    register_command(command)
    return RunStarted(
        at=time.time(), mode="attach", command=redact_command(command), folder=folder, pid=pid, version=unstall.__version__
    )


def _python_of(pid: int, host: HostSampler) -> int:
    """The process itself if it runs Python, else the first of its descendants that does (a shell script's)."""
    if is_python(pid):
        return pid
    children = list_python_processes(host.tree())
    return children[0] if children else pid


def _stands_still(looks: list[Event]) -> bool:
    samples = [look for look in looks if isinstance(look, StackSampled)]
    if len(samples) < 2:
        return False
    places = [get_position(thread) if (thread := main_thread(sample)) else None for sample in samples]
    return places[0] is not None and all(place == places[0] for place in places)


def _stall(pid: int, looks: list[Event], kernel: list[ThreadsSeen], host: HostSampled | None, began: float) -> StallBegan | None:
    """A stall is claimed only of a program that stands still and idles. For how long, its pulse says if it was watched, else
    the kernel: since when the main thread has not run. A wait that is young is none."""
    if not _stands_still(looks) or host is None or host.cpu_cores >= BUSY_CORES:
        return None
    beat = next(
        (beat for run in _runs(pid) for path in run.pulse_paths() if (beat := read_pulse(path)) and beat.pid == pid),
        None,
    )
    now_wall, now = time.time(), time.monotonic()
    asleep = measure_standing_s(kernel, pid, pid)
    may_poll = _may_poll(pid, kernel)
    is_stopped = host.stopped_share >= STOPPED_SHARE
    if beat is None and asleep is not None and asleep < LONG_S and not may_poll and not is_stopped:
        return None
    stood = beat.silent_s(now) if beat else asleep if asleep is not None and asleep < float("inf") else now - began
    return StallBegan(
        at=now_wall,
        phase=beat.phase if beat else _phase(looks) if asleep is None or asleep >= LONG_S else "",
        step=beat.step if beat else -1,
        epoch=beat.epoch if beat else -1,
        since=now_wall - stood,
        usual_s=None,
        limit_s=LONG_S,
        waiting_for_input=bool(beat and beat.input_since),
        sure=beat is not None or (asleep is not None and LONG_S <= asleep < float("inf")),
    )


def _idleness(pid: int, looks: list[Event], kernel: list[ThreadsSeen], host: HostSampled | None, began: float) -> IdleSeen | None:
    """Of a program that looks for something now and then (its main thread waits for a time that it has set, again and again) and
    does nothing else: since when, as far as this attach and those before it have seen."""
    if host is None or host.cpu_cores > IDLE_CORES or not _stands_still(looks) or not _wakes_by_itself(pid, kernel):
        return None
    now, used_s = time.time(), idle_history.read_cpu_seconds(pid)
    passed = time.monotonic() - began
    recalled = idle_history.recall_idleness(pid, kernel, _last_sample(looks))
    since, used_then = recalled or (now - passed, used_s - host.cpu_cores * passed)
    return IdleSeen(at=now, pid=pid, since=since, cpu_s=used_s - used_then)


def _wakes_by_itself(pid: int, kernel: list[ThreadsSeen]) -> bool:
    """Whether the main thread has woken of a timed wait more often than a look at the native stacks wakes it."""
    seen = [look for event in kernel if event.pid == pid and (look := find(event, pid)) is not None]
    if not seen or not seen[-1]["timed"] or any(look["runs"] is None for look in seen):
        return False
    return bool(seen[-1]["runs"] - seen[0]["runs"] >= NATIVE_WAKES + MIN_WAKES)


def _may_poll(pid: int, kernel: list[ThreadsSeen]) -> bool:
    """The main thread waits for another thread or process, for a time that it has set: it may wake again and again without
    getting on, so that how long it has slept says nothing. (A plain sleep is no such wait.)"""
    worked = measure_worked_ms(kernel, pid, pid)
    last = next((look for event in reversed(kernel) if event.pid == pid and (look := find(event, pid)) is not None), None)
    if worked is None or worked > IDLE_CPU_MS or last is None:
        return False
    return bool(last["timed"]) and "sleep" not in str(last["call"])


def _phase(looks: list[Event]) -> str:
    """From the main thread's stack: inside fit, evaluate or predict of Keras, or not known."""
    sample = next((look for look in looks if isinstance(look, StackSampled)), None)
    thread = main_thread(sample) if sample else None
    for frame in thread["frames"] if thread else []:
        if "keras" in frame["file"]:
            name = frame["function"].rsplit(".", 1)[-1].removesuffix("_generator")  # Keras 2 had both
            if name in {"fit", "evaluate", "predict"}:
                return {"fit": "train", "evaluate": "validate", "predict": "predict"}[name]
    return ""


def _variables(pid: int) -> dict[str, str]:
    """Its environment as it was given; empty where it may not be read."""
    try:
        parts = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return {os.fsdecode(name): os.fsdecode(value) for part in parts for name, sign, value in [part.partition(b"=")] if sign}


def _runs(pid: int) -> list[RunFolder]:
    """The run folder of a process that is watched already."""
    path = _variables(pid).get("UNSTALL_RUN")
    return [RunFolder(Path(path))] if path and Path(path).is_dir() else []


def _history(pid: int) -> list[Event]:
    return [event for run in _runs(pid) for event in read_folder(run.path).all() if not isinstance(event, RunStarted)]
