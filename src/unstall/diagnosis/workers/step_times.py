"""What each worker's steps take of its own: its input, and what it does between two steps. In lock-step the length of a step says
nothing of who is slow, as the others wait for the slowest inside theirs. That steps have become longer, all of them see: then
what has been since is held against what was before."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from unstall.diagnosis.workers import blocker, cluster
from unstall.diagnosis.workers.members import Member
from unstall.journal.events import CircumstancesSeen, HostSampled, StackSampled, StepsEnded, ThreadStack
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import main_thread, select_python_frames

LOOK_BACK_S = 900.0  # for since when
JUDGED_GROUPS = 20  # the newest groups of steps, as the journal tells them: twenty seconds, later a hundred
SETTLED_AFTER = 8  # steps: the first are compiled, and told one by one
MIN_GROUPS = 10
SAMPLES_S = 300.0  # stacks of a program that moves are taken seldom, so these are looked back at for longer
MIN_SAMPLES = 6
SLOWER = 1.5  # times as long as usual: then steps have become longer
MIN_SLOWER_GROUPS, MIN_SLOWER_S = 3, 5.0  # for which they must have been so: a hiccup is none
USUAL_SHARE = 0.25  # of the groups that are looked back at are shorter than what is usual: the longer ones may have lasted long


@dataclass(frozen=True)
class StepTimes:
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
    before: UsualTimes | None  # None: steps are as long as ever, and the figures are of the newest groups

    @property
    def hindered(self) -> float | None:
        """Threads that were kept from running, at any time: for want of a core, or as their process was stopped."""
        return _hindered(self.hosts)


@dataclass(frozen=True)
class UsualTimes:
    """What was usual before steps became longer."""

    step_s: float
    input_s: float | None
    hosts: tuple[HostSampled, ...]
    since: float  # when they did, by the clock of the worker

    @property
    def hindered(self) -> float | None:
        return _hindered(self.hosts)


def compute_own_s(group: StepsEnded) -> float:
    """Of its own for a step, at least: the wait for input may be a part of what lies between steps, or of the step."""
    waited = group.wait_s / group.waited_steps if group.wait_s is not None and group.waited_steps else 0.0
    return max(waited, (group.seconds - group.busy_s) / _count(group))


def measure_step_times(member: Member) -> StepTimes | None:
    """None where it has not told enough steps yet."""
    journal = member.journal
    groups = select_settled_groups(journal)
    if len(groups) < MIN_GROUPS:
        return None
    longer = find_slowdown(groups)
    newest = groups[-JUDGED_GROUPS:] if longer is None else groups[longer:][-JUDGED_GROUPS:]
    since = newest[0].at - newest[0].seconds
    seen = journal.since(StackSampled, max(groups[0].at, newest[-1].at - SAMPLES_S) if longer is None else since)
    samples = tuple(sample for sample in seen if sample.main and sample.at <= newest[-1].at)
    hosts = tuple(host for host in _hosts(journal, since) if host.at <= newest[-1].at)
    return StepTimes(
        member=member,
        groups=tuple(groups),
        step_s=median(compute_step_s(group) for group in newest),
        input_s=_input(newest, MIN_GROUPS if longer is None else MIN_SLOWER_GROUPS),
        between_s=median((group.seconds - group.busy_s) / _count(group) for group in newest),
        cpu_share=_cpu_share(journal, hosts),
        queued_cores=median(host.queued_cores for host in hosts) if hosts else None,
        swap_bytes_s=median(host.swap_in_bytes_s + host.swap_out_bytes_s for host in hosts) if hosts else None,
        collective_share=_collective_share(samples),
        samples=samples,
        hosts=hosts,
        before=None if longer is None else _before(journal, groups, longer),
    )


def select_settled_groups(journal: Journal) -> list[StepsEnded]:
    groups = [event for event in journal.of(StepsEnded) if event.phase == "train" and event.first >= SETTLED_AFTER]
    return [event for event in groups if groups[-1].at - event.at <= LOOK_BACK_S]


def find_slowdown(groups: list[StepsEnded]) -> int | None:
    """From which of these on all steps are longer than usual, and have been so for a while; None: from none."""
    if len(groups) < MIN_GROUPS:
        return None
    usual = sorted(compute_step_s(group) for group in groups)[int(USUAL_SHARE * len(groups))]
    first = len(groups)
    while first > 0 and compute_step_s(groups[first - 1]) >= SLOWER * usual:
        first -= 1
    longer = groups[first:]
    is_long_enough = len(longer) >= MIN_SLOWER_GROUPS and sum(group.seconds for group in longer) >= MIN_SLOWER_S
    return first if is_long_enough and first > 0 else None


def compute_step_s(group: StepsEnded) -> float:
    """Of one step, from its begin to that of the next."""
    return group.seconds / _count(group)


def _count(group: StepsEnded) -> int:
    return max(1, group.last - group.first + 1)


def _before(journal: Journal, groups: list[StepsEnded], longer: int) -> UsualTimes:
    earlier, since = groups[:longer], groups[longer].at - groups[longer].seconds
    hosts = [host for host in _hosts(journal, groups[0].at) if host.at <= since]
    return UsualTimes(median(compute_step_s(group) for group in earlier), _input(earlier, MIN_SLOWER_GROUPS), tuple(hosts), since)


def _hosts(journal: Journal, since: float) -> list[HostSampled]:
    """Rates are over the time before a sample: those that tell mostly of what was since then."""
    return [host for host in journal.since(HostSampled, since) if host.interval_s > 0 and host.at - host.interval_s / 2 >= since]


def _input(groups: list[StepsEnded], least: int) -> float | None:
    waits = [group.wait_s / group.waited_steps for group in groups if group.wait_s is not None and group.waited_steps]
    return median(waits) if len(waits) >= least else None


def _hindered(hosts: tuple[HostSampled, ...]) -> float | None:
    """By the mean: one that is stopped for half of the time is so in half of the looks."""
    seconds = sum(host.interval_s for host in hosts)
    kept = sum((host.queued_cores + host.stopped_share) * host.interval_s for host in hosts)
    return kept / seconds if seconds else None


def compute_stopped_share(hosts: tuple[HostSampled, ...]) -> float:
    seconds = sum(host.interval_s for host in hosts)
    return sum(host.stopped_share * host.interval_s for host in hosts) / seconds if seconds else 0.0


def _cpu_share(journal: Journal, hosts: tuple[HostSampled, ...]) -> float | None:
    seen = journal.last(CircumstancesSeen)
    cores = seen.machine.get("cores") if seen else None
    if not hosts or not isinstance(cores, int | float) or cores <= 0:
        return None
    return median(host.cpu_cores for host in hosts) / cores


def _collective_share(samples: tuple[StackSampled, ...]) -> float | None:
    threads = [thread for sample in samples if (thread := main_thread(sample)) is not None]
    if len(threads) < MIN_SAMPLES:
        return None
    return sum(_is_with_others(thread) for thread in threads) / len(threads)


def _is_with_others(thread: ThreadStack) -> bool:
    """In a collective operation; or, in our own trainer, where it waits for a step that all make together."""
    frames = [(frame["file"], frame["function"]) for frame in select_python_frames(thread)]
    return cluster.find_called_collective(thread) is not None or blocker.is_waiting(frames)
