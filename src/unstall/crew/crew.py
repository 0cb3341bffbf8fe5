"""The workers of one training, each with its journal: what the causes look at that no single journal can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from unstall.journal.events import MachineSeen, MembershipSeen, RunStarted
from unstall.journal.reader import Journal


@dataclass(frozen=True)
class Member:
    """One worker, as far as its run tells."""

    run: str
    journal: Journal
    membership: MembershipSeen | None = None
    versions: Mapping[str, str] = field(default_factory=dict)  # of Python, frameworks and drivers
    sources: Mapping[str, str] = field(default_factory=dict)  # the program's own files by name: their hash

    @property
    def worker(self) -> int | None:
        return self.membership.worker if self.membership else None

    @property
    def of(self) -> int | None:
        return self.membership.of if self.membership else None

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
        return self.membership.job if self.membership and self.membership.job else self.run

    @property
    def began_at(self) -> float:
        started = self.journal.first(RunStarted)
        return started.at if started else self.membership.at if self.membership else self.journal.now

    @property
    def cluster(self) -> tuple[str, ...]:
        """By which those that belong together are known."""
        if self.membership is None:
            return ()
        return (self.membership.coordinator, *self.membership.addresses)


@dataclass(frozen=True)
class Crew:
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
        told = [member.membership for member in self.members if member.membership is not None]
        return next((each.coordinator or ", ".join(each.addresses) for each in told if each.coordinator or each.addresses), "")

    @property
    def now(self) -> float:
        return max((member.journal.now for member in self.members), default=0.0)

    @property
    def machines(self) -> set[str]:
        """Of those that tell it. Containers of one machine have names of their own, and each its own localhost."""
        told = [member.machine for member in self.members if member.machine is not None]
        return {f"{each.boot_id} {each.hostname}" for each in told}

    def others(self, member: Member) -> tuple[Member, ...]:
        return tuple(other for other in self.members if other is not member)


def named(members: tuple[Member, ...] | list[Member], most: int = 6) -> str:
    """worker 1, worker 2 and 40 more"""
    return listed([member.name for member in members], most)


def numbered(numbers: tuple[int, ...] | list[int], most: int = 6) -> str:
    return listed([f"worker {number}" for number in numbers], most)


def listed(names: list[str], most: int = 6) -> str:
    if len(names) <= most:
        return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"
