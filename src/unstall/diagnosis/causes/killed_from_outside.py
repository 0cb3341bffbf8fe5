"""Somebody else ended the program with a signal: a scheduler, a container's end, a colleague; not a fault of its own.

What it is
----------
The program was ended by SIGKILL, SIGTERM or the like while it was well. Batch systems do so at a time limit or to take a
machine back, Kubernetes and Docker when a container is stopped, and people by `kill`. The shell says only "Killed" or
"Terminated".

How we know
-----------
The program ended by a signal that programs do not die of by themselves. It did not send it to itself, neither did Unstall,
and it did not come from the terminal. For SIGKILL, the other great sender is the kernel when memory runs out: its own counters
of such kills have not moved, and there was memory left.

When this is wrong
------------------
If something inside the program, written in C, sends the signal, or an out-of-memory killer in user space (systemd-oomd,
earlyoom) did. A signal that is sent to Unstall itself and passed on is taken as your own wish and is not told.

What to do
----------
Look in the log of the scheduler or the container for the time of the end: a time limit, a preemption, a limit of the queue.
Save checkpoints often enough that an end at any moment costs little; most schedulers send SIGTERM some seconds before SIGKILL,
time enough to save.
"""

from __future__ import annotations

import signal as signals
from collections.abc import Sequence

from unstall.diagnosis.stalls import find_current_stall
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Unknown, Verdict
from unstall.journal.events import (
    Event,
    HostSampled,
    KernelSpoke,
    KillsCounted,
    ProcessEnded,
    ProgramEnded,
    ProgramStarted,
    SignalRaised,
    SignalSent,
    StepsEnded,
    TrainingBegan,
)
from unstall.journal.reader import Journal

EXPLAINS = ()
NEARLY_FULL = 0.9  # of the memory that the program may use: then a SIGKILL is more likely the kernel's
OWN_SIGNAL_S = 10.0  # a signal that the program sent to itself shortly before is why it ended

# Signals that end a program and that come from others. Those of a crash (SEGV, ABRT, BUS, FPE, ILL) are not among them.
_FROM_OTHERS = frozenset(
    {"SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGXFSZ", "SIGPWR"}
)
_SHELL_ADDS = 128  # to the number of the signal that its child died of


def examine(journal: Journal) -> Verdict:
    ended = journal.last(ProcessEnded)
    if ended is None:
        return Clear("the program runs")
    number = ended.signal if ended.signal is not None else _signal_of_a_child(journal, ended)
    if number is None:
        return Clear("no signal ended the program")
    name = _name(number)
    if name not in _FROM_OTHERS:
        return Clear(f"{name} is the program's own end, not somebody's")
    if ended.stopped_by_us:
        return Clear("Unstall stopped it, as it was asked to")
    if _sent_itself(journal, ended, number):
        return Clear("the program sent the signal to itself")
    if any(sent.signal == number for sent in journal.of(SignalSent)):
        return Clear("the signal was sent to Unstall and passed on")
    if find_current_stall(journal) is not None:
        return Clear("it stood still already when it was ended")
    if number == signals.SIGKILL:
        return _killed(journal, ended)
    return _found(journal, ended, name, Certainty.CERTAIN, ())


def _killed(journal: Journal, ended: ProcessEnded) -> Verdict:
    """SIGKILL: somebody's, or the kernel's for want of memory."""
    hosts = journal.of(HostSampled)
    if any("oom" in event.line.lower() or "out of memory" in event.line.lower() for event in journal.of(KernelSpoke)):
        return Clear("the kernel killed it for want of memory")
    if not hosts:
        return Unknown("how much memory was left when the program was killed")
    counted = journal.last(KillsCounted)
    if counted is not None and (counted.in_group or counted.on_machine):
        return Clear("the kernel has killed for want of memory meanwhile")
    share = _memory_share(hosts[-1])
    if share >= NEARLY_FULL:
        return Clear("memory had nearly run out")
    claim = f"{share:.0%} of the memory was in use at the last look, {max(0.0, ended.at - hosts[-1].at):.0f} s before"
    evidence = [Evidence(claim, share, NEARLY_FULL, (hosts[-1],))]
    if counted is not None and counted.final:
        evidence.append(Evidence("the kernel has killed nobody for want of memory meanwhile, by its own count", 0, 0, (counted,)))
    return _found(journal, ended, "SIGKILL", Certainty.CERTAIN if len(evidence) > 1 else Certainty.LIKELY, evidence)


def _memory_share(host: HostSampled) -> float:
    """In use, of the machine or of the control group, whichever is fuller."""
    machine = 1 - host.available_bytes / host.total_bytes if host.total_bytes else 0.0
    if host.cgroup_limit_bytes and host.cgroup_used_bytes is not None:
        # What a group uses includes cached files, which never get a program killed: the program's own memory counts here.
        return max(machine, min(host.cgroup_used_bytes, host.rss_bytes) / host.cgroup_limit_bytes)
    return machine


def _found(journal: Journal, ended: ProcessEnded, name: str, certainty: Certainty, more: Sequence[Evidence]) -> Found:
    steps = journal.last(StepsEnded)
    began = journal.last(TrainingBegan)
    before = began.from_step if began is not None else 0  # of a training of ours that goes on
    was_doing = f" It last told of step {before + steps.last + 1:,}." if steps else ""
    is_inside = journal.first(ProgramStarted) is not None  # else a signal that it sends to itself is not seen
    itself = ", and was not seen to send it to itself" if is_inside else ""
    evidence = [Evidence(f"the program ended by {name}{itself}", name, None, (ended,)), *more]
    if steps:
        moving: Event = steps
        evidence.append(
            Evidence(f"it made progress until {max(0.0, ended.at - steps.at):.0f} s before", ended.at - steps.at, None, (moving,))
        )
    return Found(
        certainty,
        f"The program was ended by {name}, which Unstall did not send.{was_doing} No fault of its own was seen.",
        tuple(evidence),
        (
            "look in the log of the scheduler, the container or the machine for who ended it and why",
            "save checkpoints often, and at SIGTERM",
        ),
        None,
    )


def _signal_of_a_child(journal: Journal, ended: ProcessEnded) -> int | None:
    """A shell that ran the program ends with 128 + the signal. The program itself did not come to its orderly end."""
    code = ended.exit_code or 0
    orderly = {event.pid for event in journal.of(ProgramEnded)}
    cut_off = [event for event in journal.of(ProgramStarted) if event.pid != ended.pid and event.pid not in orderly]
    return code - _SHELL_ADDS if code > _SHELL_ADDS and cut_off and code - _SHELL_ADDS < signals.NSIG else None


def _sent_itself(journal: Journal, ended: ProcessEnded, number: int) -> bool:
    programs = {event.pid for event in journal.of(ProgramStarted)} | {ended.pid}
    return any(
        event.signal == number and (event.target in programs or event.target <= 0) and ended.at - event.at <= OWN_SIGNAL_S
        for event in journal.of(SignalRaised)
    )


def _name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
