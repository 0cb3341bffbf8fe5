"""The machine, or the program's share of it, had no more memory to give.

What it is
----------
The program asked for more memory than the machine, its container or its `ulimit` allows. Either the request is refused and
ends in an error (MemoryError, bad_alloc, "can't allocate memory"), or the kernel kills a process without a word: the program
itself, of which only "Killed" is left on the screen, or a worker, for which the training then waits in vain. Native code that
does not expect a refusal crashes on it (a segmentation fault, an abort).

How we know
-----------
An error: by its kind and its words; it ended the program. A kill: the kernel's own counter of kills for want of memory
(memory.events or memory.oom_control of the control group, /proc/vmstat) went up during the run and a process of the program
was gone, or the kernel's log names that process. A crash: a moment before it the program had nearly all of the address space in
use that `ulimit -v` allows.

When this is wrong
------------------
If the log cannot be read and somebody else sent SIGKILL at the very moment when the kernel killed another process of the same
control group. An error that the program catches and survives is not counted. A crash near the limit may have another reason:
it is called likely, never certain.

What to do
----------
Keep less at once: read and decode batch by batch instead of all files first, keep bytes (uint8) instead of floats, use fewer
workers. Or give the program more: a higher limit of the container or the job.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from unstall.base.formatting import format_size
from unstall.diagnosis.errors.fatal_error import find_user_line
from unstall.diagnosis.host_memory import measure_room
from unstall.diagnosis.out_of_memory import MemoryKill, Shortage, find_memory_kill, find_shortage, find_worker_death
from unstall.diagnosis.stalls import find_current_stall
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Unknown, Verdict
from unstall.journal.events import ErrorRaised, Frame, HostSampled, KillsCounted, ProcessEnded, SourceRead, StackSampled
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, main_thread, select_user_frames

EXPLAINS = (
    "killed_from_outside",
    "worker_missing",
    "input_starved",
    "swapping",
    "generator_blocked",
    "callback_blocked",
    "fork_deadlock",
    "process_died",
)
LOOKED_BACK_S = 10.0  # a line is named from stacks taken so shortly before the kill
CRASHES = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS})  # by which native code ends that was refused memory
OF_A_SHELL = 128  # and the number of the signal: what a shell returns for a program that was ended by one
FULL_SPACE = 0.95  # of the address space: a step of a training asks for more than the rest at once
SEEN_BEFORE_S = 10.0  # the crash: what was in use earlier says nothing of it

_HELD = re.compile(r"Killed process (\d+) \(([^)]*)\).*?anon-rss:(\d+)kB")
_KEEPS = re.compile(r"\.(append|extend|add|insert|update|setdefault)\(|\]\s*=[^=]|\+=|concatenate\(|stack\(")


def examine(journal: Journal) -> Verdict:
    short = find_shortage(journal)
    if short is not None and not short.of_device:
        return _refused(journal, short)
    kill = find_memory_kill(journal)
    if kill is not None and kill.is_main:
        return _killed(journal, kill)
    if kill is not None and _misses_a_worker(journal, kill):
        return _worker_killed(journal, kill)
    return _crashed(journal) or _none(journal)


def _none(journal: Journal) -> Verdict:
    ended = journal.last(ProcessEnded)
    if ended is not None and ended.signal == 9 and not ended.stopped_by_us:
        counted = journal.last(KillsCounted)
        if counted is None or (counted.in_group is None and counted.on_machine is None):
            return Unknown(
                "the kernel's count of kills for want of memory (/proc/vmstat, the control group)",
                "run it where /proc/vmstat or the control group can be read, or look at dmesg",
            )
    return Clear("no request for memory was refused, and the kernel killed nothing for want of it")


# --- a refusal ---


def _refused(journal: Journal, short: Shortage) -> Found:
    asked = f"{format_size(short.asked_bytes)} were" if short.asked_bytes else "more memory was"
    place = find_user_line(short.error, find_program_folder(journal))
    at = f" at {place}" if place else ""
    evidence = [Evidence(f"the error that ended the program: {short.text}", short.asked_bytes, None, (short.error,))]
    evidence += _limits(journal)
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The program ran out of host memory: {asked} asked for{at}, and refused.",
        evidence=tuple(evidence),
        actions=_actions(place),
        where=place,
        details={"asked_bytes": short.asked_bytes},
    )


def _limits(journal: Journal) -> list[Evidence]:
    """What there was, as last seen: against the machine, the group, and ulimit -v."""
    host = journal.last(HostSampled)
    if host is None:
        return []
    found: list[Evidence] = []
    space = host.address_space_limit_bytes
    if space:
        in_use = format_size(host.address_space_bytes)
        claim = f"the program may address {format_size(space)} (ulimit -v); {in_use} were in use shortly before"
        found.append(Evidence(claim, host.address_space_bytes, space, (host,)))
    left = measure_room(host)
    if left is not None:
        claim = f"of {left.of}, {format_size(left.limit_bytes)}, {format_size(left.left_bytes)} were free shortly before"
        found.append(Evidence(claim, left.left_bytes, left.limit_bytes, (host,)))
    return found


# --- a crash ---


def _crashed(journal: Journal) -> Found | None:
    """Native code that was refused memory at the limit of the address space, and did not expect it."""
    ended, host = journal.last(ProcessEnded), journal.last(HostSampled)
    if ended is None or host is None or ended.stopped_by_us or ended.at - host.at > SEEN_BEFORE_S:
        return None
    number = ended.signal or (ended.exit_code or 0) - OF_A_SHELL
    limit = host.address_space_limit_bytes
    if number not in CRASHES or not limit or host.address_space_bytes < FULL_SPACE * limit:
        return None
    place = _innermost_place(journal, [sample for sample in journal.since(StackSampled, ended.at - LOOKED_BACK_S) if sample.main])
    name = signal.Signals(number).name
    return Found(
        certainty=Certainty.LIKELY,
        summary=f"The program crashed ({name}) with its address space full: {format_size(host.address_space_bytes)} of the"
        f" {format_size(limit)} that it may address (ulimit -v) were in use. Native code that is refused memory ends like this.",
        evidence=(Evidence(f"the program ended by {name}", int(number), None, (ended,)), *_limits(journal)),
        actions=_actions(None),
        where=place,
        details={"limit_bytes": limit},
    )


# --- a kill ---


def _killed(journal: Journal, kill: MemoryKill) -> Found:
    place = _filling_place(journal, kill)
    held = _held_bytes(kill)
    limit = kill.counted.limit_bytes if kill.counted else None
    holder = "it" if kill.spoke and _HELD.search(kill.spoke.line) else "its control group"
    parts = [f"{holder} held {format_size(held)}"] if held else []
    parts += [f"the limit of its control group is {format_size(limit)}"] if limit else []
    about = f": {', '.join(parts)}" if parts else ""
    at = f" Shortly before, its main thread stood at {place}." if place else ""
    return Found(
        certainty=Certainty.CERTAIN if kill.certain else Certainty.LIKELY,
        summary=f"The kernel killed the program for want of memory{about}.{at}",
        evidence=_kill_evidence(journal, kill),
        actions=_actions(None),
        where=place,
        details={"held_bytes": held, "limit_bytes": limit},
    )


def _worker_killed(journal: Journal, kill: MemoryKill) -> Found:
    named = _HELD.search(kill.spoke.line) if kill.spoke else None
    who = (
        f"worker process {named.group(1)}, which held {format_size(int(named.group(3)) * 1024)},"
        if named
        else "one of its workers"
    )
    error, stall = _last_error(journal), find_current_stall(journal)
    then, place = "", None
    if error is not None and find_worker_death(error):
        then, place = " The program ended with an error that says so.", find_user_line(error, find_program_folder(journal))
    elif stall is not None and stall.samples:
        then = " The program stands still."
        place = _innermost_place(journal, stall.samples)
    return Found(
        certainty=Certainty.CERTAIN if kill.certain else Certainty.LIKELY,
        summary=f"The kernel killed {who} for want of memory.{then}",
        evidence=_kill_evidence(journal, kill),
        actions=("use fewer workers, or let each keep less: they share one limit", *_actions(None)[1:]),
        where=place,
    )


def _misses_a_worker(journal: Journal, kill: MemoryKill) -> bool:
    """A helper that was killed and is not missed is no fault of the run; and a counter alone is about anybody in the group."""
    error = _last_error(journal)
    if error is not None and find_worker_death(error):
        return True
    is_own = kill.spoke is not None and not kill.spoke.by_group
    has_had_workers = any(host.processes > 1 for host in journal.of(HostSampled))
    return (is_own or has_had_workers) and find_current_stall(journal) is not None


def _last_error(journal: Journal) -> ErrorRaised | None:
    return next((error for error in reversed(journal.of(ErrorRaised)) if error.fatal), None)


def _held_bytes(kill: MemoryKill) -> int | None:
    named = _HELD.search(kill.spoke.line) if kill.spoke else None
    if named:
        return int(named.group(3)) * 1024
    return kill.counted.peak_bytes if kill.counted and kill.counted.in_group else None


def _kill_evidence(journal: Journal, kill: MemoryKill) -> tuple[Evidence, ...]:
    evidence: list[Evidence] = []
    if kill.spoke is not None:
        evidence.append(Evidence(f"the kernel's log: {kill.spoke.line[:160]}", kill.spoke.pid, None, (kill.spoke,)))
    if kill.counted is not None:
        count, whose = kill.counted.in_group, "its control group"
        if not count:
            count, whose = kill.counted.on_machine, "this machine"
        evidence.append(Evidence(f"kills for want of memory in {whose} during the run: {count}", count, 0, (kill.counted,)))
    hosts = journal.of(HostSampled)[-8:]
    if len(hosts) > 1:
        before, after = hosts[0].rss_bytes, hosts[-1].rss_bytes
        seconds = hosts[-1].at - hosts[0].at
        claim = f"its memory grew from {format_size(before)} to {format_size(after)} in the last {seconds:.0f} s seen"
        if after > before:
            evidence.append(Evidence(claim, hosts[-1].rss_bytes, None, tuple(hosts)))
    return tuple(evidence)


# --- where ---


def _filling_place(journal: Journal, kill: MemoryKill) -> str | None:
    """Where the program last stood: at the line that keeps what it gets, if a stack shows such a line."""
    at = kill.ended.at if kill.ended else journal.now
    samples = [sample for sample in journal.since(StackSampled, at - LOOKED_BACK_S) if sample.main]
    return _innermost_place(journal, samples, keeping=True)


def _innermost_place(journal: Journal, samples: Sequence[StackSampled], keeping: bool = False) -> str | None:
    """The user's line that the main thread stood at in the last sample that shows one."""
    for sample in reversed(samples):
        thread = main_thread(sample)
        frames = select_user_frames(thread) if thread else []
        if frames:
            chosen = next((frame for frame in frames if _keeps(journal, frame)), frames[0]) if keeping else frames[0]
            return format_where(chosen, find_program_folder(journal))
    return None


def _keeps(journal: Journal, frame: Frame) -> bool:
    """Whether the line adds to something: `images.append(decode(file))`."""
    return any(
        source.file == frame["file"] and source.line == frame["line"] and _KEEPS.search(source.text)
        for source in journal.of(SourceRead)
    )


def _actions(place: str | None) -> tuple[str, ...]:
    at = f" at {place}" if place else ""
    return (
        f"keep less at once{at}: read batch by batch, keep uint8 instead of float32, drop what is no longer needed",
        "or give the program more memory: a higher limit of the container, the job or ulimit -v, or a larger machine",
    )
