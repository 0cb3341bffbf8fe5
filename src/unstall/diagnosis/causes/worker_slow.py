"""One worker of several is slow, and all the others wait for it in each step.

What it is
----------
Workers that average their gradients go in lock-step: a step lasts as long as that of the slowest. One with slower input, a
crowded or smaller machine, or work of its own between the steps makes all of them slow, and what the others show is a step
that is long, without a sign why.

How we know
-----------
The runs of several workers are read together (`unstall diagnose RUN RUN…`) and go in lock-step. The length of a step is the
same on all and says nothing, so each worker's own time is compared: its wait for input, and the time between its steps;
where these are alike, how often its stack is in a collective operation (the slow one seldom, the others mostly), and
whether it uses all of its cores while the others have some to spare. Where steps have become longer in the course of the
run, what has been since is held against what was before, which tells within seconds: the one whose threads are kept from
running since then, for want of a core or as its process is stopped again and again. Told in numbers: by how much, since
when, and what of it. `unstall train` looks for it by itself, and says it with the stack of that worker.

When this is wrong
------------------
The first steps are left out, as one worker may compile for longer. So are evaluations and saving, which one worker does for
all. What a worker spends inside its step on a card cannot be told from its wait for the others there. Where only one worker's
run can be read, only what has changed for it can be seen; another may have become slow, too.

What to do
----------
Look at what is named: more threads or a faster disk for the input of that worker, the same number of cores and memory as
the others, other programs off its machine. What only one worker does (logging, pictures) is best done seldom, or beside the
training. Unstall starts nothing again for it: the next process would have the same machine, the same cores and the same input,
and the steps since the last checkpoint would be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.diagnosis.workers.members import RunGroup
from unstall.diagnosis.workers.step_times import StepTimes, UsualTimes, compute_own_s, compute_stopped_share, measure_step_times
from unstall.journal.events import Event, MembershipSeen, WorkerFaltered, WorkerRecovered
from unstall.journal.reader import Journal

SAME_STEP_TIME = 0.1  # the steps of workers in lock-step differ in length by no more than this share
MIN_SHARE = 0.2  # of a step, that the slow one must need more than the others: less is how machines differ
MIN_MORE_S = 0.005  # the same in seconds: what is shorter is not worth a look
TIMES_OTHERS = 2.0  # so many times the own time of the others
MAX_COLLECTIVE_SHARE = 0.2  # of the looks at the slow one, at most, show it in a collective operation
MOSTLY = 0.6  # of the looks at each of the others, at least
CORES_FULL = 0.9  # of its cores the slow one uses at least
CORES_FREE = 0.5  # of theirs the others use at most
QUEUED_CORES = 1.0  # threads that wait for a core at any time: fewer is no shortage
SWAPS_BYTES_S = 1e6  # memory that goes out and comes in again
SAME_STEP_TIME_SHORT = 0.3  # in place of SAME_PACE while steps have become longer: there are few to compare yet
HINDERED = 0.4  # of a thread's time, that the slow one is kept from running more than before
HINDERED_ALIKE = 0.4  # of that, at most, the others are: else all their machines are crowded
EXPLAINS_SHARE = 0.6  # of what a step takes longer than before, that a worker's own input must take longer to be the cause alone

SLOWS = "slows"  # as the supervisor calls it
MAX_FRAMES = 4  # of a stack, in a sentence
_DO_INPUT = "give this worker the input that the others have: its disk, its threads, its cores"


@dataclass(frozen=True)
class _Slowdown:
    step_times: StepTimes
    more_s: float | None  # a step; None: not known how much
    why: str
    evidence: tuple[Evidence, ...]
    do: str
    since: float | None = None
    certainty: Certainty = Certainty.LIKELY


def examine(journal: Journal) -> Verdict:
    faltered = next((event for event in reversed(journal.of(WorkerFaltered)) if event.how == SLOWS), None)
    if faltered is not None:
        return _verdict_of(journal, faltered)
    if journal.last(MembershipSeen) is None:
        return Clear("the program tells of no other workers")
    return Unknown("the runs of the other workers, to be read together: unstall diagnose RUN RUN…")


def _verdict_of(journal: Journal, faltered: WorkerFaltered) -> Verdict:
    """What the supervisor of several workers has found among them, by the rule below."""
    if any(recovered.worker == faltered.worker for recovered in journal.since(WorkerRecovered, faltered.at)):
        return Clear(f"worker {faltered.worker} was slow, and is so no more")
    claims = [*faltered.evidence, *([f"it was at {' < '.join(faltered.stack[:MAX_FRAMES])}"] if faltered.stack else [])]
    certainty = next((each for each in Certainty if each.word == faltered.certainty), Certainty.LIKELY)
    return Found(
        certainty,
        faltered.why,
        tuple(Evidence(claim, None, None, (faltered,)) for claim in claims or [faltered.why]),
        tuple(faltered.actions),
        effect=Effect.SLOWS,
        details={"workers": [faltered.worker]},
    )


def examine_workers(run_group: RunGroup) -> Verdict:
    all_step_times = [step_times for member in run_group.members if (step_times := measure_step_times(member)) is not None]
    if not all_step_times or len(all_step_times) < len(run_group.members):
        return Unknown("enough steps of every worker")
    if len(all_step_times) == 1:
        return _examine_one(run_group, all_step_times[0])
    usual = median(step_times.step_s for step_times in all_step_times)
    same = SAME_STEP_TIME_SHORT if all(step_times.before is not None for step_times in all_step_times) else SAME_STEP_TIME
    if any(abs(step_times.step_s - usual) > same * usual for step_times in all_step_times):
        return Clear("the workers do not go in lock-step: none waits for another")
    slow = (
        _by_hindrance(all_step_times)
        or _by_input(all_step_times, usual)
        or _by_between(all_step_times, usual)
        or _by_stacks(all_step_times)
        or _by_cores(all_step_times)
        or _by_memory(all_step_times)
    )
    if slow is None:
        return Clear("no worker needs more time of its own than the others")
    return _found(run_group, slow, usual)


def _examine_one(run_group: RunGroup, step_times: StepTimes) -> Verdict:
    """The others are on other machines: of this one it can be said whether what has changed for it is why steps are longer."""
    if step_times.before is None:
        return Unknown("the runs of the other workers, to be read together: unstall diagnose RUN RUN…")
    slow = _by_hindrance([step_times]) or _by_longer_input(step_times, step_times.before)
    return (
        _found(run_group, slow, step_times.step_s) if slow is not None else Clear("nothing of its own has made its steps longer")
    )


def _by_hindrance(all_step_times: list[StepTimes]) -> _Slowdown | None:
    """Since steps became longer it wants to run and is not let, and the others are not kept from it like that."""
    rises = [(step_times, rise) for step_times in all_step_times if (rise := _hindered_more(step_times)) is not None]
    if not rises or len(rises) < len(all_step_times):
        return None
    slow, most = max(rises, key=lambda each: each[1])
    if most < HINDERED or any(rise > HINDERED_ALIKE * most for step_times, rise in rises if step_times is not slow):
        return None
    before = slow.before
    assert before is not None
    stopped, queued = compute_stopped_share(slow.hosts), median(host.queued_cores for host in slow.hosts)
    if stopped >= HINDERED / 2:
        why = f"its process is stopped, by a signal or a debugger, for {100 * stopped:.0f} % of the time"
        earlier = compute_stopped_share(before.hosts)
        claim = f"it was stopped in {100 * stopped:.0f} % of the looks at it, before in {100 * earlier:.0f} %"
        do = "find out who stops its process again and again (SIGSTOP): cpulimit, a debugger, a batch system"
    else:
        was = median(host.queued_cores for host in before.hosts)
        why = "it is kept from running for want of a core: its machine is crowded, or its share of the CPU has been cut"
        claim = f"{queued:.1f} of its threads wait for a core at any time, before {was:.1f}"
        do = "give this worker the CPU that it had: see what else runs on its machine, and the CPU limit of its container"
    more = _longer(slow, before)
    limits = [Evidence(claim, stopped or queued, HINDERED, (*before.hosts[-1:], *slow.hosts[-3:]))]
    rest = [
        Evidence(
            f"of {step_times.member.name} {max(0.0, rise):.1f} more than before are kept from running",
            rise,
            None,
            step_times.hosts[-1:],
        )
        for step_times, rise in rises
        if step_times is not slow
    ]
    return _Slowdown(slow, None, why, (more, *limits, *rest[:3]), do, before.since)


def _hindered_more(step_times: StepTimes) -> float | None:
    if step_times.before is None or step_times.hindered is None or step_times.before.hindered is None:
        return None
    return step_times.hindered - step_times.before.hindered


def _longer(step_times: StepTimes, before: UsualTimes) -> Evidence:
    claim = f"a step takes {_ms(step_times.step_s)}, before it took {_ms(before.step_s)}"
    return Evidence(claim, step_times.step_s, before.step_s, step_times.groups[-3:])


def _by_longer_input(step_times: StepTimes, before: UsualTimes) -> _Slowdown | None:
    if step_times.input_s is None or before.input_s is None:
        return None
    more = step_times.input_s - before.input_s
    if more < max(EXPLAINS_SHARE * (step_times.step_s - before.step_s), MIN_MORE_S):
        return None
    why = f"its input takes {_ms(step_times.input_s)} a step, before {_ms(before.input_s)}"
    claim = f"{step_times.member.name} spends {_ms(step_times.input_s)} a step on its input"
    evidence = (_longer(step_times, before), Evidence(claim, step_times.input_s, before.input_s, step_times.groups[-3:]))
    return _Slowdown(step_times, more, why, evidence, _DO_INPUT, before.since)


def _by_input(all_step_times: list[StepTimes], step_s: float) -> _Slowdown | None:
    if any(step_times.input_s is None for step_times in all_step_times):
        return None
    slow, usual = _most(all_step_times, lambda step_times: step_times.input_s or 0.0)
    own = slow.input_s or 0.0
    if not _stands_out(own, usual, step_s):
        return None
    return _slow_by(all_step_times, slow, own, usual, "its input", _DO_INPUT, lambda step_times: step_times.input_s or 0.0)


def _by_between(all_step_times: list[StepTimes], step_s: float) -> _Slowdown | None:
    """Where stacks show that it does not wait for the others there: an all-reduce in a callback lies between two steps, too."""
    slow, usual = _most(all_step_times, lambda step_times: step_times.between_s)
    if (
        not _stands_out(slow.between_s, usual, step_s)
        or slow.collective_share is None
        or slow.collective_share > MAX_COLLECTIVE_SHARE
    ):
        return None
    do = "let this worker do between its steps what the others do, or do the rest beside the training"
    what = "what it does between the steps"
    return _slow_by(all_step_times, slow, slow.between_s, usual, what, do, lambda step_times: step_times.between_s)


def _most(all_step_times: list[StepTimes], own: Callable[[StepTimes], float]) -> tuple[StepTimes, float]:
    """The one that needs the most, and what is usual among the others."""
    slow = max(all_step_times, key=own)
    return slow, median(own(step_times) for step_times in all_step_times if step_times is not slow)


def _stands_out(own_s: float, usual_s: float, step_s: float) -> bool:
    return own_s - usual_s >= max(MIN_SHARE * step_s, MIN_MORE_S) and own_s >= TIMES_OTHERS * usual_s


def _slow_by(
    all_step_times: list[StepTimes],
    slow: StepTimes,
    own_s: float,
    usual_s: float,
    what: str,
    do: str,
    own: Callable[[StepTimes], float],
) -> _Slowdown:
    others = [step_times for step_times in all_step_times if step_times is not slow]
    claims = [
        Evidence(
            f"{step_times.member.name} spends {_ms(own(step_times))} a step on {what}",
            own(step_times),
            usual_s,
            step_times.groups[-3:],
        )
        for step_times in (slow, *others[:5])
    ]
    why = f"{what} takes {_ms(own_s)} a step, that of the others {_ms(usual_s)}"
    more = own_s - usual_s
    since = _since(slow, usual_s + more / 2)
    waits_are_seen = all((step_times.collective_share or 0.0) > MAX_COLLECTIVE_SHARE for step_times in others)
    certainty = Certainty.CERTAIN if waits_are_seen else Certainty.LIKELY
    return _Slowdown(slow, more, why, (*claims, *_machine(slow, others)), do, since, certainty)


def _since(slow: StepTimes, limit_s: float) -> float | None:
    """Of the steps that are looked at, the first from which on all were so slow; None: from the beginning of these."""
    since = None
    for group in reversed(slow.groups):
        if compute_own_s(group) < limit_s:
            return since
        since = group.at
    return None


def _by_stacks(all_step_times: list[StepTimes]) -> _Slowdown | None:
    if any(step_times.collective_share is None for step_times in all_step_times):
        return None
    shares = [(step_times, step_times.collective_share or 0.0) for step_times in all_step_times]
    slow, least = min(shares, key=lambda each: each[1])
    others = [(step_times, share) for step_times, share in shares if step_times is not slow]
    if least > MAX_COLLECTIVE_SHARE or any(share < MOSTLY for _, share in others):
        return None
    claims = [
        Evidence(
            f"{step_times.member.name} was in a collective operation in {100 * share:.0f} % of {len(step_times.samples)} looks",
            share, MOSTLY, step_times.samples[-5:],
        )
        for step_times, share in (( slow, least), *others[:5])
    ]  # fmt: skip
    machine = _machine(slow, [step_times for step_times, _ in others])
    why = "the others wait in collective operations most of the time, and it is the one they wait for"
    do = "see what this worker computes or does that the others do not, and what else its machine does"
    return _Slowdown(slow, None, why, (*claims, *machine), do)


def _by_cores(all_step_times: list[StepTimes]) -> _Slowdown | None:
    if any(step_times.cpu_share is None for step_times in all_step_times):
        return None
    slow = max(all_step_times, key=_need_of_cores)
    others = [step_times for step_times in all_step_times if step_times is not slow]
    if _need_of_cores(slow) < CORES_FULL or any(_need_of_cores(step_times) > CORES_FREE for step_times in others):
        return None
    is_short = (slow.queued_cores or 0.0) >= QUEUED_CORES and all(
        (step_times.queued_cores or 0.0) < QUEUED_CORES for step_times in others
    )
    if not is_short or (slow.collective_share or 0.0) > MAX_COLLECTIVE_SHARE:
        return None  # who waits for the others may spin, and uses a core for that
    why = "it uses all the cores that it has and wants more, and the others have some to spare"
    do = "give this worker as many cores as the others, and see what else runs on its machine"
    return _Slowdown(slow, None, why, tuple(_machine(slow, others)), do)


def _by_memory(all_step_times: list[StepTimes]) -> _Slowdown | None:
    slow = max(all_step_times, key=lambda step_times: step_times.swap_bytes_s or 0.0)
    others = [step_times for step_times in all_step_times if step_times is not slow]
    swaps = slow.swap_bytes_s or 0.0
    if swaps < SWAPS_BYTES_S or any((step_times.swap_bytes_s or 0.0) > 0.1 * swaps for step_times in others):
        return None
    if (slow.collective_share or 0.0) > MAX_COLLECTIVE_SHARE:
        return None
    why = f"its machine swaps {swaps / 1e6:.0f} MB a second, and those of the others hardly do"
    do = "give this worker as much memory as the others, or end what else uses it on its machine"
    return _Slowdown(slow, None, why, tuple(_machine(slow, others)), do)


def _need_of_cores(step_times: StepTimes) -> float:
    return step_times.cpu_share or 0.0


def _machine(slow: StepTimes, others: list[StepTimes]) -> list[Evidence]:
    """What its own machine tells, where that of the others is otherwise."""
    rows: list[tuple[str, float, float, tuple[Event, ...]]] = []
    rest = [step_times for step_times in others if step_times.cpu_share is not None]
    if slow.cpu_share is not None and rest:
        usual = median(step_times.cpu_share or 0.0 for step_times in rest)
        claim = f"it uses {100 * slow.cpu_share:.0f} % of its cores, the others {100 * usual:.0f} %"
        rows.append((claim, slow.cpu_share, usual, slow.hosts))
    if slow.queued_cores is not None and slow.queued_cores >= QUEUED_CORES:
        claim = f"{slow.queued_cores:.1f} of its threads wait for a core at any time"
        rows.append((claim, slow.queued_cores, QUEUED_CORES, slow.hosts))
    if slow.swap_bytes_s is not None and slow.swap_bytes_s > SWAPS_BYTES_S:
        claim = f"its machine swaps {slow.swap_bytes_s / 1e6:.0f} MB a second"
        rows.append((claim, slow.swap_bytes_s, SWAPS_BYTES_S, slow.hosts))
    return [Evidence(claim, value, limit, events[-3:]) for claim, value, limit, events in rows if events]


def _found(run_group: RunGroup, slow: _Slowdown, step_s: float) -> Found:
    member = slow.step_times.member
    host = f" ({member.host})" if member.host else ""
    times = ""
    if slow.more_s is not None:
        least = max(step_s - slow.more_s, 0.0)
        times = f" A step takes {_ms(step_s)}; without that it would take about {_ms(least)}."
    newest = slow.step_times.groups[-1].at
    since = f" It has been so for {newest - slow.since:.0f} s." if slow.since is not None else ""
    return Found(
        slow.certainty,
        f"{member.name[0].upper()}{member.name[1:]}{host} holds the other {_count(run_group)}: {slow.why}.{times}{since}",
        slow.evidence,
        (slow.do,),
        effect=Effect.SLOWS,
        details={"workers": [member.worker], "step_s": step_s, "seconds": newest - slow.since if slow.since is not None else 0.0},
    )


def _count(run_group: RunGroup) -> str:
    return f"{run_group.of - 1:,} workers" if run_group.of > 2 else "worker"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms" if seconds < 10 else f"{seconds:.0f} s"
