"""The workers of one training, each with its journal: what the causes look at that no single journal can show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath

from unstall.journal.events import MachineSeen, MembershipSeen, RunStarted
from unstall.journal.reader import Journal


@dataclass(frozen=True)
class Member:
    """One worker, as far as its run tells."""

    run: str
    journal: Journal
    rank_seen: MembershipSeen | None = None
    versions: Mapping[str, str] = field(default_factory=dict)  # of Python, frameworks and drivers
    sources: Mapping[str, str] = field(default_factory=dict)  # the program's own files by name: their hash

    @property
    def worker(self) -> int | None:
        return self.rank_seen.worker if self.rank_seen else None

    @property
    def of(self) -> int | None:
        return self.rank_seen.of if self.rank_seen else None

    @property
    def machine(self) -> MachineSeen | None:
        return self.journal.last(MachineSeen)

    @property
    def host(self) -> str:
        machine = self.machine
        return machine.hostname if machine else ""

    @property
    def name(self) -> str:
        """worker 1; a process that has no number by the job that it was given, or by its run."""
        if self.worker is not None:
            return f"worker {self.worker}"
        return self.rank_seen.job if self.rank_seen and self.rank_seen.job else self.run

    @property
    def began_at(self) -> float:
        started = self.journal.first(RunStarted)
        return started.at if started else self.rank_seen.at if self.rank_seen else self.journal.now

    @property
    def cluster(self) -> tuple[str, ...]:
        """By which those that belong together are known."""
        if self.rank_seen is None:
            return ()
        return (self.rank_seen.coordinator, *self.rank_seen.addresses)


@dataclass(frozen=True)
class RunGroup:
    members: tuple[Member, ...]  # in the order of their numbers
    seen: frozenset[int] = frozenset()  # numbers of further ones, which are there and were not read whole: very many

    @property
    def of(self) -> int:
        """How many there should be; at least those that are there."""
        return max([len(self.members), len(self.seen), *(member.of for member in self.members if member.of is not None)])

    @property
    def not_read(self) -> tuple[int, ...]:
        """Numbers of which no journal is there."""
        numbers = {*self.seen, *(member.worker for member in self.members)}
        return tuple(number for number in range(self.of) if number not in numbers)

    @property
    def coordinator(self) -> str:
        rows = [member.rank_seen for member in self.members if member.rank_seen is not None]
        return next((each.coordinator or ", ".join(each.addresses) for each in rows if each.coordinator or each.addresses), "")

    @property
    def now(self) -> float:
        return max((member.journal.now for member in self.members), default=0.0)

    @property
    def machines(self) -> set[str]:
        """Of those that tell it. Containers of one machine have names of their own, and each its own localhost."""
        rows = [member.machine for member in self.members if member.machine is not None]
        return {f"{each.boot_id} {each.hostname}" for each in rows}

    def others(self, member: Member) -> tuple[Member, ...]:
        return tuple(other for other in self.members if other is not member)


def format_members(members: tuple[Member, ...] | list[Member], most: int = 6) -> str:
    """worker 1, worker 2 and 40 more"""
    return format_list([member.name for member in members], most)


def format_numbers(numbers: tuple[int, ...] | list[int], most: int = 6) -> str:
    return format_list([f"worker {number}" for number in numbers], most)


def format_list(names: list[str], most: int = 6) -> str:
    if len(names) <= most:
        return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


# Which runs are workers of one training: the same coordinator or the same addresses, at the same time, each number once.


OVERLAP_SLACK_S = 600.0  # clocks may be apart, and one may have ended before another was started to wait for it


@dataclass(frozen=True)
class UngroupedRun:
    """A run that belongs to none of the others, and why."""

    member: Member
    why: str


@dataclass(frozen=True)
class GroupedRuns:
    run_groups: tuple[RunGroup, ...]
    ungrouped: tuple[UngroupedRun, ...]


def group_members(members: Iterable[Member]) -> GroupedRuns:
    alone: list[UngroupedRun] = []
    groups: dict[tuple[object, ...], list[list[Member]]] = {}
    for member in sorted(members, key=lambda member: member.began_at):
        if member.rank_seen is None:
            alone.append(UngroupedRun(member, "it tells of no other workers"))
            continue
        of_cluster = groups.setdefault((member.cluster, member.of), [])
        _join(of_cluster, member)
    found = _with_other_addresses([group for of_cluster in groups.values() for group in of_cluster])
    run_groups = [RunGroup(tuple(sorted(group, key=_order))) for group in found if len(group) > 1]
    alone += [UngroupedRun(group[0], _why_alone(group[0])) for group in found if len(group) == 1]
    return GroupedRuns(tuple(sorted(run_groups, key=lambda run_group: run_group.members[0].began_at)), tuple(alone))


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
    is_same = one[0].of == other[0].of and find_program(one[0]) == find_program(other[0]) != ""
    return is_same and not numbers and any(_overlap(each, another) for each in one for another in other)


def find_program(member: Member) -> str:
    """The name of the script or module, or of the program where the command has neither; the rest may hold its number."""
    started = member.journal.first(RunStarted)
    command = list(started.command) if started else []
    script = next((PurePath(part).name for part in command if part.endswith(".py")), "")
    module = next((after for part, after in pairwise(command) if part == "-m"), "")
    return script or module or (PurePath(command[0]).name if command else "")


def _why_alone(member: Member) -> str:
    event = member.rank_seen
    assert event is not None
    address = event.coordinator or ", ".join(event.addresses[:3])
    place = f" at {address}" if address else ""
    return f"it is {member.name} of {event.of or 'several'}{place}, and no other of these runs belongs to that cluster"


def _order(member: Member) -> tuple[bool, int, str]:
    return member.worker is None, member.worker or 0, member.run
