"""The training waits for another process of its cluster, which has not come or has left.

What it is
----------
A run on several processes begins when all of them have met. If one was never started, crashed while starting, or cannot be
reached under the address it was given, the others wait for it: in MultiWorkerMirroredStrategy, jax.distributed.initialize or
torch.distributed.init_process_group. The same is told when a process has left and the others end with an error about it.

How we know
-----------
The main thread stands in the call that joins the cluster, in every stack sample, and the program uses next to no CPU. Or
the program ended with the framework's own error about processes that did not come or went away. Where the runs of several
workers are read together (`unstall diagnose RUN RUN…`), the one that lacks is named: its number has no run, it ended while the
others wait, it has told nothing since, or it stands somewhere else.

When this is wrong
------------------
When the other machines are merely slow to start: pulling an image, loading a large library. So nothing is said for the first
seconds. A worker that was started without Unstall, or writes its run elsewhere, is missing among the runs only.

What to do
----------
See whether all processes were started and what the missing one printed. Check that every process is given the same addresses
and its own number (TF_CONFIG, MASTER_ADDR, RANK, coordinator_address), that no address is localhost on several machines, and
that the ports are open between the machines.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.fatal_error import find_relevant_line, find_user_line
from unstall.diagnosis.stalls import Stall, StuckThread, find_sampled_stall
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Unknown, Verdict
from unstall.diagnosis.workers import cluster as clusters
from unstall.diagnosis.workers.activity import GONE, Activity, Place, compute_silent_s, find_places
from unstall.diagnosis.workers.members import Member, RunGroup, format_members, format_numbers
from unstall.journal.events import ClusterSeen, ErrorRaised, ProcessEnded, RunStarted, SignalSent
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, select_user_frames

EXPLAINS = ("collective_stuck", "callback_blocked")
WAIT_S = 20.0  # machines of a cluster do not start at the same moment
SURE_AFTER_S = 60.0  # by then it is more than a slow start
ENDED_TOGETHER_S = 60.0  # a user or a scheduler that ends a training ends all workers within this time
SILENT_S = 30.0  # a watcher whose program stands still writes every few seconds, so that by then it or its machine is gone

_DO = (
    "see whether every process of the run was started, and what the missing one printed",
    "check that all were given the same addresses, and each its own number",
)
# What the frameworks say of processes that did not come, or went away.
_ERRORS = re.compile(
    r"Timed out after \d+ seconds waiting for clients"
    r"|Timed out initializing process group in store based barrier"
    r"|Barrier timed out.*(PjRT_Client_Connect|CoordinationService|Agent_Register|WaitForAllTasks)"
    r"|(Agent_Register|WaitForAllTasks|RegisterTask).*(DEADLINE_EXCEEDED|timed out|Deadline Exceeded)"
    r"|DEADLINE_EXCEEDED.*(RegisterTask|register|barrier)"
    r"|gloo/transport/tcp/.*(Connection closed by peer|Connection reset by peer|Broken pipe|Connection refused)"
    r"|Collective ops is aborted by"
    r"|The following tasks are unhealthy",
    re.DOTALL,
)


def examine(journal: Journal) -> Verdict:
    error = next((event for event in reversed(journal.of(ErrorRaised)) if event.fatal and _ERRORS.search(event.message)), None)
    if error is not None:
        return _from_error(journal, error)
    stall = find_sampled_stall(journal)
    if not isinstance(stall, Stall):
        return stall
    waiting = [
        (still, name)
        for still in stall.still()
        if (name := clusters.describe_join(still.thread)) and select_user_frames(still.thread)
    ]
    if not waiting:
        return Clear("no thread waits for other processes to come")
    started = journal.last(RunStarted)
    if stall.seconds < WAIT_S and not (started and started.mode == "attach"):
        return Clear(f"it has waited for other processes for {stall.seconds:.0f} s only")
    return _from_stall(journal, stall, *waiting[0])


def _from_stall(journal: Journal, stall: Stall, still: StuckThread, name: str) -> Found:
    folder = find_program_folder(journal)
    users = select_user_frames(still.thread)
    place = format_where(users[0], folder)
    cluster = clusters.find_cluster(stall, still.pid)
    count = len(still.samples)
    who = "the main thread" if still.thread["name"] == "MainThread" else "a thread"
    evidence = [
        Evidence(
            f"{who} stands at {place}, in the call that joins {name} ({count} of {count} samples)",
            place,
            None,
            still.samples,
        ),
        Evidence(f"it has waited for {stall.seconds:.0f} s", stall.seconds, WAIT_S, (stall.began,)),
    ]
    size = clusters.count_declared_workers(cluster)
    of_how_many = clusters.describe_peer(journal) or (f" The run is meant for {size} processes." if size else "")
    if cluster is not None and (missing := _not_connected(cluster)):
        evidence.append(
            Evidence(f"there is no connection to {', '.join(missing)}, which TF_CONFIG lists", len(missing), 0, (cluster,))
        )
    return Found(
        Certainty.CERTAIN if stall.seconds >= SURE_AFTER_S else Certainty.LIKELY,
        f"The program waits at {place} for the other processes of {name}.{of_how_many} That call has not returned.",
        tuple(evidence),
        (*_DO, clusters.TOGETHER) if clusters.describe_peer(journal) else _DO,
        place,
    )


def _not_connected(cluster: ClusterSeen) -> list[str]:
    """Of the others. A connection is seen by its numbers: whether one leads to a name cannot be told."""
    connected = {str(connection.get("to")) for connection in cluster.connections}
    return [other for other in clusters.list_tf_others(cluster) if other not in connected and clusters.is_number(other)]


def _from_error(journal: Journal, error: ErrorRaised) -> Found:
    folder = find_program_folder(journal)
    place = find_user_line(error, folder)
    line = find_relevant_line(error, _ERRORS)
    return Found(
        Certainty.CERTAIN,
        f"A process of the cluster did not come, has left, or could not be reached: {line}",
        (Evidence(f"the error that ended it: {line}", line, None, (error,)),),
        _DO,
        place,
    )


# --- of several workers ---


def examine_workers(run_group: RunGroup) -> Verdict:
    placed = find_places(run_group)
    return _left(run_group, placed) or _fallen_silent(run_group, placed) or _not_come(run_group, placed)


def _is_about_others(member: Member) -> bool:
    return any(event.fatal and _ERRORS.search(event.message) for event in member.journal.of(ErrorRaised))


def _left(run_group: RunGroup, placed: list[tuple[Member, Place]]) -> Found | None:
    """Who failed or was killed by itself, while others wait for it or ended of that."""
    held = [(m, p) for m, p in placed if p.waits or (p.doing is Activity.LEFT and _is_about_others(m))]
    gone = [(m, p) for m, p in placed if p.doing is Activity.LEFT and not _is_about_others(m) and not _were_all_ended(m, held)]
    if not gone or not held:
        return None
    member, place = min(gone, key=lambda each: each[1].at)
    return _found_workers(run_group, [member], f"{_called(member)} {place.words}", place, held, Certainty.CERTAIN)


def _were_all_ended(member: Member, held: list[tuple[Member, Place]]) -> bool:
    """Somebody lost patience with all of them: that one was the first to go is no cause."""
    asked = [_asked_at(each) for each in (member, *(other for other, _ in held))]
    return len(held) > 0 and all(abs(at - asked[0]) < ENDED_TOGETHER_S for at in asked)


def _asked_at(member: Member) -> float:
    """When it was asked to end; never, as a number that is near to no other."""
    sent, ended = member.journal.last(SignalSent), member.journal.last(ProcessEnded)
    by_us = ended.at if ended is not None and ended.stopped_by_us else None
    return sent.at if sent is not None else by_us if by_us is not None else float("nan")


def _fallen_silent(run_group: RunGroup, placed: list[tuple[Member, Place]]) -> Found | None:
    held = [(member, place) for member, place in placed if place.waits]
    quiet = [(m, p) for m, p in placed if p.doing not in GONE and not p.waits and compute_silent_s(run_group, m) >= SILENT_S]
    if not held or not quiet:
        return None
    member, place = quiet[0]
    step = f" since step {place.step:,}" if place.step is not None else ""
    words = f"{_called(member)} has told nothing for {compute_silent_s(run_group, member):.0f} s{step}, while others have"
    return _found_workers(run_group, [each for each, _ in quiet], words, place, held, Certainty.LIKELY)


def _not_come(run_group: RunGroup, placed: list[tuple[Member, Place]]) -> Verdict:
    held = [(member, place) for member, place in placed if place.doing is Activity.JOINS]
    if not held:
        return _of_each(run_group, "no worker waits for another to come")
    waited = max(member.journal.now - place.at for member, place in held)
    if waited < WAIT_S:
        return Clear(f"they have waited for each other for {waited:.0f} s only")
    sure = Certainty.CERTAIN if waited >= SURE_AFTER_S else Certainty.LIKELY
    elsewhere = [(member, place) for member, place in placed if place.doing is Activity.STANDS]
    if elsewhere:
        member, place = elsewhere[0]
        return _found_workers(run_group, [member], f"{_called(member)} has not come: it {place.words}", place, held, sure)
    starting = [member for member, place in placed if place.doing not in {Activity.JOINS, *GONE}]
    if starting:
        return Clear(f"{format_members(starting)} is there, and on its way")
    if run_group.not_read:
        words = (
            f"Of {format_numbers(run_group.not_read)} there is no run: not started, or without Unstall, or its run lies elsewhere"
        )
        return _found_workers(run_group, [], words, held[0][1], held, sure)
    words = f"All {len(held)} are at the call that joins them, and it has not returned"
    return _found_workers(run_group, [], words, held[0][1], held, Certainty.LIKELY)


def _of_each(run_group: RunGroup, why: str) -> Verdict:
    """Unknown where a worker stands still and nobody could see where."""
    single = [examine(member.journal) for member in run_group.members]
    return next((verdict for verdict in single if isinstance(verdict, Unknown)), Clear(why))


def _called(member: Member) -> str:
    host = f" ({member.host})" if member.host else ""
    return f"{member.name[0].upper()}{member.name[1:]}{host}"


def _describe_wait(held: list[tuple[Member, Place]]) -> str:
    verb = "waits" if len(held) == 1 else "wait"
    return verb if all(place.waits for _, place in held) else f"{verb}, or ended with an error about others"


def _found_workers(
    run_group: RunGroup, missing: list[Member], words: str, place: Place, held: list[tuple[Member, Place]], certainty: Certainty
) -> Found:
    waits = ", ".join(f"{member.name} {waiting.words}" for member, waiting in held[:3])
    evidence = [Evidence(words, place.where, None, place.events)] if missing else []
    evidence += [Evidence(f"{member.name} {waiting.words}", waiting.where, None, waiting.events) for member, waiting in held[:6]]
    return Found(
        certainty,
        f"{words}. {len(held)} of {run_group.of} workers {_describe_wait(held)}: {waits}.",
        tuple(evidence),
        _DO,
        place.where or held[0][1].where,
        details={"workers": [member.worker for member in missing] or list(run_group.not_read)},
    )
