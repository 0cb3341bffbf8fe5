"""Which runs are workers of one training: the same coordinator or the same addresses, at the same time, each number once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from unstall.crew.crew import Crew, Member
from unstall.journal.events import RunStarted

OVERLAP_SLACK_S = 600.0  # clocks may be apart, and one may have ended before another was started to wait for it


@dataclass(frozen=True)
class Apart:
    """A run that belongs to none of the others, and why."""

    member: Member
    why: str


@dataclass(frozen=True)
class Together:
    crews: tuple[Crew, ...]
    apart: tuple[Apart, ...]


def put_together(members: Iterable[Member]) -> Together:
    alone: list[Apart] = []
    groups: dict[tuple[object, ...], list[list[Member]]] = {}
    for member in sorted(members, key=lambda member: member.began_at):
        if member.membership is None:
            alone.append(Apart(member, "it tells of no other workers"))
            continue
        of_cluster = groups.setdefault((member.cluster, member.of), [])
        _join(of_cluster, member)
    found = _with_other_addresses([group for of_cluster in groups.values() for group in of_cluster])
    crews = [Crew(tuple(sorted(group, key=_order))) for group in found if len(group) > 1]
    alone += [Apart(group[0], _why_alone(group[0])) for group in found if len(group) == 1]
    return Together(tuple(sorted(crews, key=lambda crew: crew.members[0].began_at)), tuple(alone))


def _join(groups: list[list[Member]], member: Member) -> None:
    for group in groups:
        if _fits(group, member):
            group.append(member)
            return
    groups.append([member])


def _fits(group: Sequence[Member], member: Member) -> bool:
    """The newest run of a cluster that was started again at the same address takes no place in the one before."""
    is_free = member.worker is None or all(other.worker != member.worker for other in group)
    return is_free and any(_overlap(other, member) for other in group)


def _overlap(one: Member, other: Member) -> bool:
    return one.began_at < other.journal.now + OVERLAP_SLACK_S and other.began_at < one.journal.now + OVERLAP_SLACK_S


def _with_other_addresses(groups: list[list[Member]]) -> list[list[Member]]:
    """A worker that was given a wrong address is still one of them: the same program for as many, whose number is lacking."""
    whole = [group for group in groups if _is_whole(group)]
    open_groups: list[list[Member]] = []
    for group in [group for group in groups if not _is_whole(group)]:
        other = next((other for other in open_groups if _belong(other, group)), None)
        if other is None:
            open_groups.append(list(group))
        else:
            other += group
    return whole + open_groups


def _is_whole(group: Sequence[Member]) -> bool:
    return group[0].of is None or len(group) >= group[0].of


def _belong(one: Sequence[Member], other: Sequence[Member]) -> bool:
    numbers = {member.worker for member in one} & {member.worker for member in other}
    is_same = one[0].of == other[0].of and program_of(one[0]) == program_of(other[0]) != ""
    return is_same and not numbers and any(_overlap(each, another) for each in one for another in other)


def program_of(member: Member) -> str:
    """The name of the script or module, or of the program where the command has neither; the rest may hold its number."""
    started = member.journal.first(RunStarted)
    command = list(started.command) if started else []
    script = next((PurePath(part).name for part in command if part.endswith(".py")), "")
    module = next((after for part, after in pairwise(command) if part == "-m"), "")
    return script or module or (PurePath(command[0]).name if command else "")


def _why_alone(member: Member) -> str:
    told = member.membership
    assert told is not None
    address = told.coordinator or ", ".join(told.addresses[:3])
    place = f" at {address}" if address else ""
    return f"it is {member.name} of {told.of or 'several'}{place}, and no other of these runs belongs to that cluster"


def _order(member: Member) -> tuple[bool, int, str]:
    return member.worker is None, member.worker or 0, member.run
