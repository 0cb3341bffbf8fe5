"""A worker was given an address under which the others cannot be reached.

What it is
----------
Each worker is told where the others are: TF_CONFIG lists all addresses, jax.distributed and torch.distributed name one
coordinator. An address of localhost means each machine itself; an address twice, a port that is another one on each worker
or at which nobody listens, and the address of another machine lead nowhere. The workers then wait for each other for
minutes, without a word.

How we know
-----------
From the variables and arguments that each worker was given: an address that stands in the list twice, or localhost beside
addresses of other machines. Where the runs of several workers are read together (`unstall diagnose RUN RUN…`): localhost
for workers of several machines, coordinators that differ, a worker that waits and does not listen at the port where the
others look for it, or whose machine does not have that address.

When this is wrong
------------------
Behind a translation of addresses (containers with published ports, a service of Kubernetes) a worker may rightly be called
by an address that its machine does not know: so that is told only while the workers wait for each other to come.

What to do
----------
Give all workers the same list or the same coordinator, with an address of the first worker's machine that the others reach,
and a port that is free there: MASTER_ADDR, JAX_COORDINATOR_ADDRESS, "cluster" in TF_CONFIG.
"""

from __future__ import annotations

import ipaddress
from collections import Counter

from unstall.diagnosis.stalls import find_current_stall
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Unknown, Verdict
from unstall.diagnosis.workers import cluster
from unstall.diagnosis.workers.activity import Activity, Place, find_places
from unstall.diagnosis.workers.members import Member, RunGroup, format_members
from unstall.journal.events import ClusterSeen, Event, MembershipSeen
from unstall.journal.reader import Journal

EXPLAINS = ("worker_missing", "collective_stuck")
WAIT_S = 15.0  # workers that have waited for each other for less are merely starting

_DO = (
    "give all workers the same list of addresses or the same coordinator, as the others reach it, and its own number to each",
    "use a name or address of the first worker's machine, not localhost, and a port that is free there",
)


def examine(journal: Journal) -> Verdict:
    """What one worker's own list shows."""
    event = journal.last(MembershipSeen)
    if event is None:
        return Clear("the program tells of no other workers")
    twice = [address for address, count in Counter(event.addresses).items() if count > 1]
    if twice:
        count = Counter(event.addresses)[twice[0]]
        claim = f"the list of workers has {twice[0]} {count} times"
        return _found(f"{count} workers were given one address: {claim}.", claim, twice[0], (event,), [])
    here = [address for address in event.addresses if is_loopback(address)]
    if here and len(here) < len(event.addresses) and _waits(journal):  # on one machine both may lead to it
        other = next(address for address in event.addresses if not is_loopback(address))
        claim = f"the list of workers has {here[0]} beside {other}"
        summary = f"One address in the list of workers leads each machine to itself: {claim}."
        return _found(summary, claim, here[0], (event,), [], Certainty.LIKELY)
    if not event.coordinator and not event.addresses:
        return Unknown("the addresses that the worker was given")
    return Clear("the addresses that it was given are all different")


def _waits(journal: Journal) -> bool:
    stall = find_current_stall(journal)
    return stall is not None and stall.seconds >= WAIT_S and any(cluster.describe_join(still.thread) for still in stall.still())


def examine_workers(run_group: RunGroup) -> Verdict:
    placed = find_places(run_group)
    joining = [(m, p) for m, p in placed if p.doing is Activity.JOINS and m.journal.now - p.at >= WAIT_S]
    for member in run_group.members:
        single = examine(member.journal)
        if isinstance(single, Found):
            return single
    rows = [(member, member.rank_seen) for member in run_group.members if member.rank_seen is not None]
    if not any(each.coordinator or each.addresses for _, each in rows):
        return Unknown("the addresses that the workers were given")
    if not joining:
        return Clear("no worker waits for the others to come")
    return _of_lists(run_group, rows) or _not_there(joining) or Clear("the addresses lead to the workers, as far as can be seen")


def _of_lists(run_group: RunGroup, ranked: list[tuple[Member, MembershipSeen]]) -> Found | None:
    lists = {(each.coordinator, *each.addresses): member for member, each in ranked}
    events = tuple(each for _, each in ranked)
    if len(lists) > 1:
        said = ", ".join(f"{member.name} {_shown(key)}" for key, member in list(lists.items())[:4])
        claim = f"the workers were given different addresses: {said}"
        odd = _odd(ranked)
        return _found(f"The workers look for each other at different places: {said}.", claim, len(lists), events, odd)
    address = next(address for address in next(iter(lists)) if address)
    if is_loopback(address) and len(run_group.machines) > 1:
        hosts = sorted({member.host for member in run_group.members if member.host})
        claim = f"the address is {address}, and the workers are on {len(run_group.machines)} machines ({', '.join(hosts[:4])})"
        return _found(f"Each worker looks for the others on its own machine: {claim}.", claim, address, events, [])
    return None


def _not_there(joining: list[tuple[Member, Place]]) -> Found | None:
    """A worker is at the call, and is not where the others were told that it is."""
    if len(joining) < 2:
        return None
    for member, _ in joining:
        own = _own_address(member)
        found = _no_listener(member, own) or _of_another_machine(member, own) if own else None
        if found is not None:
            return found
    return None


def _own_address(member: Member) -> str:
    """Under which the others look for it; empty where they need not."""
    event = member.rank_seen
    if event is None or event.worker is None:
        return ""
    if event.addresses:
        return event.addresses[event.worker] if event.worker < len(event.addresses) else ""
    return event.coordinator if event.worker == 0 else ""


def _no_listener(member: Member, own: str) -> Found | None:
    seen, port = member.journal.last(ClusterSeen), split(own)[1]
    if seen is None or not seen.listens or any(split(each)[1] == port for each in seen.listens):
        return None
    claim = f"{member.name} listens at {', '.join(seen.listens[:4])}, and not at port {port}"
    return _found(f"{own} leads to no port at which that worker listens: {claim}.", claim, port, (seen,), [member])


def _of_another_machine(member: Member, own: str) -> Found | None:
    machine, host = member.machine, split(own)[0]
    if machine is None or not machine.addresses or not _is_literal(host) or is_loopback(host) or host in machine.addresses:
        return None
    claim = f"the machine of {member.name} ({machine.hostname}) has the addresses {', '.join(machine.addresses[:4])}"
    words = f"{own}, where the others look for {member.name}, is no address of its machine: {claim}."
    return _found(words, claim, host, (machine,), [member], Certainty.LIKELY)


def _odd(ranked: list[tuple[Member, MembershipSeen]]) -> list[Member]:
    """Those that were given another one than most; of two, the one that is not the first."""
    counts = Counter((each.coordinator, *each.addresses) for _, each in ranked)
    usual = max(counts, key=lambda key: (counts[key], key == (ranked[0][1].coordinator, *ranked[0][1].addresses)))
    return [member for member, each in ranked if (each.coordinator, *each.addresses) != usual]


def _shown(key: tuple[str, ...]) -> str:
    return ", ".join(address for address in key if address)[:120] or "none"


def split(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), port


def is_loopback(address: str) -> bool:
    host = split(address)[0] if ":" in address and not _is_literal(address) else address
    if host in {"localhost", "localhost.localdomain", "ip6-localhost"}:
        return True
    return _is_literal(host) and ipaddress.ip_address(host).is_loopback


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _found(
    summary: str,
    claim: str,
    value: float | str,
    events: tuple[Event, ...],
    odd: list[Member],
    certainty: Certainty = Certainty.CERTAIN,
) -> Found:
    who = f" It is {format_members(odd)} to look at first." if odd else ""
    return Found(
        certainty,
        summary + who,
        (Evidence(claim, value, None, events),),
        _DO,
        details={"workers": [member.worker for member in odd]},
    )
