"""The training waits in an operation that all processes must take part in, and one of them does not.

What it is
----------
An all-reduce, a broadcast or a barrier ends when every process of the run has entered it. If one process has fewer batches
and leaves its loop, evaluates or saves alone, waits for its input or has stopped, the others wait in the operation for ever.

How we know
-----------
A step takes much longer than the run's history allows. The stack shows a thread in a collective operation (of
torch.distributed, gloo, NCCL, JAX or MPI) at the same place in every sample; or it waits in a step of TensorFlow while
TensorFlow's collective threads are up, it is connected to other processes, and the program uses no CPU. Where the other
processes run on this machine, their stacks show where they are instead (worker processes of a data loader or a pool are left
out); where the runs of several workers are read together
(`unstall diagnose RUN RUN…`), each one's own journal does.

When this is wrong
------------------
When another process is merely slow: it saves a large checkpoint, or its disk is slow. When it comes, the verdict is taken
back. A worker that evaluates or saves alone while the others wait for it is no fault, and is not told.

What to do
----------
Let all processes run the same number of steps and call the same operations in the same order: repeat or cut the data to an
equal number of batches, and do what only one process does (saving, logging) without leaving the others in a barrier for
long. Look at the process that is named here first.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.fatal_error import find_relevant_line, find_user_line
from unstall.diagnosis.stalls import Stall, StuckThread, find_idle_stall
from unstall.diagnosis.thread_waits import find_wait
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Unknown, Verdict
from unstall.diagnosis.workers import cluster as clusters
from unstall.diagnosis.workers.activity import GONE, Activity, Place, find_places
from unstall.diagnosis.workers.members import Member, RunGroup, format_members, format_numbers
from unstall.journal.events import ErrorRaised, StackSampled, ThreadStack
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, select_user_frames

EXPLAINS = ("callback_blocked",)

_DO = (
    "give every process the same number of steps, and the same operations in the same order",
    "look at what the process that does not take part is doing, and why",
)
# Files in which a process stands that only works for another one.
_SERVING = (
    "torch/utils/data/_utils/worker.py",
    "multiprocessing/pool.py",
    "concurrent/futures/process.py",
    "/py_dataset_adapter.py",
)
# What the frameworks say when a collective operation has waited for longer than they allow.
_ERRORS = re.compile(r"Timed out waiting \d+ms for (recv|send) operation|Watchdog caught collective operation timeout")


def examine(journal: Journal) -> Verdict:
    error = next((event for event in reversed(journal.of(ErrorRaised)) if event.fatal and _ERRORS.search(event.message)), None)
    if error is not None:
        return _from_error(journal, error)
    stall = find_idle_stall(journal)
    if not isinstance(stall, Stall):
        return stall
    standing = stall.still()
    inside = [
        (still, name)
        for still in standing
        if (name := clusters.find_waiting_collective(stall, still)) and select_user_frames(still.thread)
    ]
    if not inside:
        return Clear("no thread waits in a collective operation")
    still, name = inside[0]
    absent = _absent(stall, {each.pid for each, _ in inside})
    return _found(journal, stall, still, name, absent)


def _from_error(journal: Journal, error: ErrorRaised) -> Found:
    line = find_relevant_line(error, _ERRORS)
    return Found(
        Certainty.CERTAIN,
        f"A collective operation waited for other processes until its time was over: {line}",
        (Evidence(f"the error that ended it: {line}", line, None, (error,)),),
        _DO,
        find_user_line(error, find_program_folder(journal)),
    )


def _absent(stall: Stall, inside: set[int]) -> list[StuckThread]:
    """Main threads of the other processes, which are somewhere else. They may sleep and look in turns: that too is not moving."""
    everywhere = stall.still(strict=False)
    return [
        each
        for each in everywhere
        if each.pid not in inside
        and each.thread["name"] == "MainThread"
        and select_user_frames(each.thread)
        and not _serves(each.thread)
    ]


def _serves(thread: ThreadStack) -> bool:
    """A worker process of a data loader or of a pool takes part in no collective operation."""
    return any(part in frame["file"] for frame in thread["frames"] for part in _SERVING)


def _found(journal: Journal, stall: Stall, still: StuckThread, name: str, absent: list[StuckThread]) -> Found:
    folder = find_program_folder(journal)
    users = select_user_frames(still.thread)
    place = format_where(users[0], folder)
    count = len(still.samples)
    evidence = [
        Evidence(
            f"process {still.pid} waits in a collective of {name} at {place} ({count} of {count} samples)",
            place,
            None,
            still.samples,
        )
    ]
    account = ""
    for other in absent[:3]:
        at = format_where(select_user_frames(other.thread)[0], folder)
        words = find_wait(other.thread, other.call)
        doing = f"waits for {words}" if words else "stands still"
        evidence.append(Evidence(f"process {other.pid} is not in it: it {doing} at {at}", at, None, other.samples))
        account = account or f" Process {other.pid} does not take part: it {doing} at {at}."
    cluster = clusters.find_cluster(stall, still.pid)
    if cluster is not None and cluster.connections:
        others = ", ".join(clusters.list_peers(stall, still.pid)[:4])
        evidence.append(Evidence(f"it is connected to {others}", len(cluster.connections), None, (cluster,)))
    idle = stall.idleness()
    evidence += [*([idle] if idle else []), stall.lateness()]
    who = clusters.describe_peer(journal)
    lacking = "and one does not" if absent else "and which has not come to its end"
    summary = f"The program waits at {place} in an operation of {name} that all processes must take part in, {lacking}."
    return Found(
        Certainty.CERTAIN if absent else Certainty.LIKELY,
        summary + account + who,
        tuple(evidence),
        (*_DO, clusters.TOGETHER) if who and not absent else _DO,
        place,
    )


# --- of several workers ---

MAX_NAMED = 3
Placed = list[tuple[Member, Place]]


def examine_workers(run_group: RunGroup) -> Verdict:
    placed = find_places(run_group)
    inside = [(member, place) for member, place in placed if place.doing is Activity.COLLECTIVE]
    if not inside:
        single = [examine(member.journal) for member in run_group.members]
        unknown = next((verdict for verdict in single if isinstance(verdict, Unknown)), None)
        return unknown or Clear("no worker waits in a collective operation")
    busy = [
        (m, p)
        for m, p in placed
        if p.doing in {Activity.WORKS, Activity.EVALUATES, Activity.TRAINS, Activity.STARTS, Activity.JOINS}
    ]
    if busy:
        return Clear("; ".join(f"{member.name} {place.words}, and may come yet" for member, place in busy[:MAX_NAMED]))
    unseen = [member for member, place in placed if place.doing is Activity.UNSEEN]
    if unseen:
        return Unknown(f"the stacks of {format_members(unseen)}", "see its own run for what was missing")
    absent = [(member, place) for member, place in placed if place.doing in {Activity.STANDS, Activity.ENDED}]
    if absent:
        return _absent_worker(run_group, inside, absent)
    if any(place.doing in GONE for _, place in placed):
        return Clear("a worker has left: that is worker_missing")
    return _all_inside(run_group, inside)


def _absent_worker(run_group: RunGroup, inside: Placed, absent: Placed) -> Found:
    place = absent[0][1]
    account = ", ".join(f"{other.name} {where_.words}" for other, where_ in absent[:MAX_NAMED])
    step = f" of step {inside[0][1].step:,}" if inside[0][1].step is not None else ""
    return Found(
        Certainty.CERTAIN,
        f"{_waiting(inside)}{step}, which {_all(run_group)} must take part in. {account[0].upper()}{account[1:]} instead.",
        (*_shown(absent), *_shown(inside)),
        _DO,
        place.where or inside[0][1].where,
        details={"workers": [other.worker for other, _ in absent]},
    )


def _all_inside(run_group: RunGroup, inside: Placed) -> Found:
    lines = {place.where for _, place in inside}
    numbers = {place.step for _, place in inside}
    if run_group.not_read:
        certainty, why = (
            Certainty.LIKELY,
            f"None of them is elsewhere; of {format_numbers(run_group.not_read)} there is no run to look at",
        )
    elif len(operations := _operations(inside)) > 1:
        certainty, why = Certainty.CERTAIN, f"They wait in different operations ({', '.join(operations)}), so that none can end"
    elif len(lines) > 1:
        certainty, why = Certainty.LIKELY, "They wait at different lines, and perhaps in different operations"
    elif len(numbers) > 1:
        certainty, why = Certainty.LIKELY, "They are in different steps"
    else:
        certainty, why = Certainty.LIKELY, "All have come to it, at the same line, and it does not end"
    return Found(
        certainty,
        f"{_waiting(inside)}, which {_all(run_group)} must take part in. {why}.",
        _shown(inside),
        (*_DO, "see whether the machines still reach each other: network, firewall, a cable") if len(lines) == 1 else _DO,
        inside[0][1].where,
        details={"workers": list(run_group.not_read)},
    )


def _operations(inside: Placed) -> list[str]:
    """The different functions that they have called; none where that of one of them is not seen."""
    called: set[str] = set()
    for _, place in inside:
        samples = [event for event in place.events if isinstance(event, StackSampled)]
        seen = {name for sample in samples[-1:] for thread in sample.threads if (name := clusters.find_collective(thread))}
        if len(seen) != 1:
            return []
        called |= seen
    return sorted(called)


def _all(run_group: RunGroup) -> str:
    return "both" if run_group.of == 2 else f"all {run_group.of:,}"


def _waiting(inside: Placed) -> str:
    names = format_members([member for member, _ in inside], MAX_NAMED)
    verb = "waits" if len(inside) == 1 else "wait"
    return f"{names[0].upper()}{names[1:]} {verb} in a collective operation at {inside[0][1].where}"


def _shown(placed: Placed) -> tuple[Evidence, ...]:
    return tuple(Evidence(f"{member.name} {place.words}", place.where, None, place.events) for member, place in placed[:6])
