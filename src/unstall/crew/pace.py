"""What each worker's steps take of its own: its input, and what it does between two steps. In lock-step the length of a step says
nothing of who is slow, as the others wait for the slowest inside theirs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from unstall.crew.crew import Member
from unstall.diagnosis import clusters
from unstall.diagnosis.stacks import main_thread
from unstall.journal.events import CircumstancesSeen, HostSampled, StackSampled, StepsEnded
from unstall.journal.reader import Journal

LOOK_BACK_S = 900.0  # for since when
JUDGED_GROUPS = 20  # the newest groups of steps, as the journal tells them: twenty seconds, later a hundred
SETTLED_AFTER = 8  # steps: the first are compiled, and told one by one
LEAST_GROUPS = 10
SAMPLES_S = 300.0  # stacks of a program that moves are taken seldom, so these are looked back at for longer
LEAST_SAMPLES = 6


@dataclass(frozen=True)
class Pace:
    """Seconds are medians for one step."""

    member: Member
    groups: tuple[StepsEnded, ...]  # all that are looked back at; the figures are of the newest
    step_s: float
    input_s: float | None  # None: not measured
    between_s: float  # outside of the step itself: callbacks, the program's own code, an input that is fetched in Python
    cpu_share: float | None  # of the cores that it may use
    queued_cores: float | None  # threads that were ready to run and had no core
    swap_bytes_s: float | None
    collective_share: float | None  # of the stacks that were seen, how many waited in a collective operation
    samples: tuple[StackSampled, ...]
    hosts: tuple[HostSampled, ...]


def own_of(group: StepsEnded) -> float:
    """Of its own for a step, at least: the wait for input may be a part of what lies between steps, or of the step."""
    count = max(1, group.last - group.first + 1)
    waited = group.wait_s / group.waited_steps if group.wait_s is not None and group.waited_steps else 0.0
    return max(waited, (group.seconds - group.busy_s) / count)


def pace_of(member: Member) -> Pace | None:
    """None where it has not told enough steps yet."""
    journal = member.journal
    groups = [event for event in journal.of(StepsEnded) if event.phase == "train" and event.first >= SETTLED_AFTER]
    groups = [event for event in groups if groups[-1].at - event.at <= LOOK_BACK_S]
    if len(groups) < LEAST_GROUPS:
        return None
    newest = groups[-JUDGED_GROUPS:]
    since = newest[0].at - newest[0].seconds
    counts = [max(1, group.last - group.first + 1) for group in newest]
    waits = [group.wait_s / group.waited_steps for group in newest if group.wait_s is not None and group.waited_steps]
    hosts = tuple(host for host in journal.since(HostSampled, since) if host.interval_s > 0 and host.at <= newest[-1].at)
    seen = journal.since(StackSampled, max(groups[0].at, newest[-1].at - SAMPLES_S))
    samples = tuple(sample for sample in seen if sample.main and sample.at <= newest[-1].at)
    return Pace(
        member=member,
        groups=tuple(groups),
        step_s=median(group.seconds / count for group, count in zip(newest, counts, strict=True)),
        input_s=median(waits) if len(waits) >= LEAST_GROUPS else None,
        between_s=median((group.seconds - group.busy_s) / count for group, count in zip(newest, counts, strict=True)),
        cpu_share=_cpu_share(journal, hosts),
        queued_cores=median(host.queued_cores for host in hosts) if hosts else None,
        swap_bytes_s=median(host.swap_in_bytes_s + host.swap_out_bytes_s for host in hosts) if hosts else None,
        collective_share=_collective_share(samples),
        samples=samples,
        hosts=hosts,
    )


def _cpu_share(journal: Journal, hosts: tuple[HostSampled, ...]) -> float | None:
    seen = journal.last(CircumstancesSeen)
    cores = seen.machine.get("cores") if seen else None
    if not hosts or not isinstance(cores, int | float) or cores <= 0:
        return None
    return median(host.cpu_cores for host in hosts) / cores


def _collective_share(samples: tuple[StackSampled, ...]) -> float | None:
    threads = [thread for sample in samples if (thread := main_thread(sample)) is not None]
    if len(threads) < LEAST_SAMPLES:
        return None
    return sum(clusters.calls_collective(thread) is not None for thread in threads) / len(threads)
