"""Does the training wait for its input, and what does the input wait for? The facts that three causes share.

The wait is measured in every step where that can be done; where a loop of one's own draws its batches from a Python generator,
stack samples say how often it was found there. What limits the input is read from three sources: the stacks of the threads
that make it, the CPU that those threads use, and TensorFlow's measurement of its pipeline.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unstall.diagnosis.causes.generator_blocked import find_input_frames
from unstall.diagnosis.pipelines import Pipeline, StageWork, read_pipelines
from unstall.diagnosis.thread_waits import find, find_wait
from unstall.journal.events import (
    DeviceSampled,
    FitBegan,
    Frame,
    HostSampled,
    InputDescribed,
    SourceRead,
    StackSampled,
    StallEnded,
    StepsEnded,
    ThreadsSeen,
    ThreadStack,
)
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, is_user_file, main_thread, select_user_frames

STARVED_SHARE = 0.55  # of a step's time goes into waiting for its batch
MIN_WAIT_S = 0.01  # for each step: below, it is the price of a call, not a wait
ARRAYS_WAIT_S = 0.05  # the same for arrays in memory, of which only a slice is to be cut
MIN_STEPS = 12
MIN_SECONDS = 8.0
MIN_LONG_STEPS = 6  # are enough where they have taken so long: nobody should wait for twelve steps of a quarter of a minute
MIN_LONG_SECONDS = 40.0
RECENT_SHARE = 1 / 3  # the last third is looked at by itself: what was slow only at first is over
MIN_SAMPLES = 4
INTERPRETER_SHARE = 0.75  # of all samples: so much of the interpreter leaves too little for the training …
WAITS_TOO = 0.2  # … where its steps wait for so much of their time as well
SEEN_IN_PYTHON = 0.35  # of the samples must show Python code that makes input, for it to be what the steps wait for
WORKS_CORES = 0.5  # a thread that runs, or is ready to run, for so much of the time computes
RESTS_CORES = 0.35  # below, it waits
DEVICE_BUSY_PERCENT = 70.0  # a device that works so much is not kept waiting
WARM_UP_STEPS = 2


@dataclass(frozen=True)
class Wait:
    """How long steps waited for their input."""

    share: float
    recent_share: float
    is_usual: bool  # at least half of the steps, and of the time, not a few slow ones
    each_s: float  # of one step
    step_s: float
    steps: int
    seconds: float
    groups: tuple[StepsEnded, ...]

    @property
    def is_long_enough(self) -> bool:
        """Whether it was measured for so long that it is no accident."""
        is_usual = self.steps >= MIN_STEPS and self.seconds >= MIN_SECONDS
        return is_usual or (self.steps >= MIN_LONG_STEPS and self.seconds >= MIN_LONG_SECONDS)


@dataclass(frozen=True)
class PythonInput:
    """The user's own Python code that makes the input, as stack samples show it."""

    place: str | None
    function: str
    samples: tuple[StackSampled, ...]  # in which it was found
    looked: int  # samples in all
    cores: float | None  # CPU that its threads use or are ready to use
    gil_share: float | None  # of those samples in which one of its threads held the interpreter's lock
    awaits: str | None  # what it waits for, where the stacks say so in most samples
    threads: int  # the most at once

    @property
    def computes(self) -> bool:
        return self.cores is not None and self.cores >= WORKS_CORES

    @property
    def rests(self) -> bool:
        return self.cores is not None and self.cores <= RESTS_CORES


@dataclass(frozen=True)
class InputStarvation:
    wait: Wait | None  # None: seen by stack samples only
    share: float
    python: PythonInput | None
    pipeline: Pipeline | None
    hardest: tuple[StageWork, float] | None  # stage of the pipeline in the time that is judged, and its share of the work
    hosts: tuple[HostSampled, ...]

    @property
    def cores(self) -> float | None:
        """Cores that the whole program used while it trained, or would have used on a machine of its own."""
        seconds = sum(host.interval_s for host in self.hosts)
        return sum((host.cpu_cores + host.queued_cores) * host.interval_s for host in self.hosts) / seconds if seconds else None

    @property
    def disk_wait_share(self) -> float:
        """In how many looks a thread was in the kernel's uninterruptible wait, which is that for a disk."""
        return sum(host.io_wait_threads > 0 for host in self.hosts) / len(self.hosts) if self.hosts else 0.0


def find_starvation(journal: Journal) -> InputStarvation | str:
    """Whether the latest training waits for its input; or why not, or why that is not known, in words."""
    fit = journal.last(FitBegan)
    if fit is None:
        return "no training was seen"
    groups = [group for group in journal.since(StepsEnded, fit.at) if group.phase == "train" and group.first >= WARM_UP_STEPS]
    pauses = _pauses(groups, journal.since(StallEnded, fit.at))
    groups = _beside(groups, pauses)
    if not groups:
        return "no steps yet"
    pipeline = _pipeline(journal, fit)
    groups = _after_the_cache(groups, pipeline)
    if not groups:
        return "the first pass fills the cache of the pipeline"
    since, until = groups[0].at - groups[0].seconds, groups[-1].at
    samples = [
        sample for sample in journal.since(StackSampled, since)
        if sample.main and not sample.native and sample.at <= until and not any(begin <= sample.at < end for begin, end in pauses)
    ]  # fmt: skip
    hosts = tuple(host for host in journal.since(HostSampled, since) if host.at <= until and host.interval_s > 0)
    if _device_is_busy(journal, since, until):
        return "the device is busy"
    wait = measure_wait(groups)
    if wait is None:
        return _by_samples(journal, fit, groups, samples, hosts)
    if not wait.is_long_enough:
        return "too few steps yet"
    hardest = _hardest(pipeline, groups)
    python = _python(journal, samples, hardest)
    waits = min(wait.share, wait.recent_share) >= STARVED_SHARE and wait.is_usual
    least = ARRAYS_WAIT_S if _is_in_memory(journal) else MIN_WAIT_S
    if wait.each_s < least or not (waits or _takes_the_interpreter(wait, python)):
        return f"steps wait {wait.each_s * 1000:.3g} of {wait.step_s * 1000:.3g} ms for their input"
    return InputStarvation(wait, wait.share, python, pipeline, hardest, hosts)


def _pauses(groups: list[StepsEnded], stalls: Sequence[StallEnded]) -> list[tuple[float, float]]:
    """From when to when. One long pause says nothing of what each step waits; where most steps are in pauses, these are how long
    steps take, and none is left out."""
    pauses = [(stall.at - stall.seconds, stall.at) for stall in stalls]
    kept = _beside(groups, pauses)
    return pauses if 2 * sum(map(_count, kept)) >= sum(map(_count, groups)) else []


def _beside(groups: list[StepsEnded], pauses: list[tuple[float, float]]) -> list[StepsEnded]:
    return [group for group in groups if not any(begin < group.at and group.at - group.seconds < end for begin, end in pauses)]


def _is_in_memory(journal: Journal) -> bool:
    """Whether the input is arrays that the program has given whole."""
    described = next((event for event in reversed(journal.of(InputDescribed)) if event.role == "train"), None)
    return described is not None and described.kind == "arrays"


def measure_wait(groups: list[StepsEnded]) -> Wait | None:
    """None where no wait was measured."""
    known = [group for group in groups if group.waited_steps and group.wait_s is not None and group.seconds > 0]
    if not known:
        return None
    steps, seconds = sum(_count(group) for group in known), sum(group.seconds for group in known)
    waits = sum(_wait(group) for group in known)
    starved_groups = [group for group in known if _wait(group) >= STARVED_SHARE * group.seconds]
    usual = sum(map(_count, starved_groups)) * 2 >= steps and sum(group.seconds for group in starved_groups) * 2 >= seconds
    recent = known[_index_of_last(known, seconds * RECENT_SHARE) :]
    recent_share = sum(_wait(group) for group in recent) / sum(group.seconds for group in recent)
    return Wait(waits / seconds, recent_share, usual, waits / steps, seconds / steps, steps, seconds, tuple(known))


def _count(group: StepsEnded) -> int:
    return group.last - group.first + 1


def _wait(group: StepsEnded) -> float:
    """Of all its steps, from those that were measured."""
    each = (group.wait_s or 0.0) / group.waited_steps
    return min(group.seconds, each * _count(group))


def _index_of_last(groups: list[StepsEnded], seconds: float) -> int:
    left = max(seconds, MIN_SECONDS / 2)
    for index in range(len(groups) - 1, -1, -1):
        left -= groups[index].seconds
        if left <= 0:
            return index
    return 0


def _pipeline(journal: Journal, fit: FitBegan) -> Pipeline | None:
    """The tf.data pipeline that feeds the training: of those that still give batches, the one that worked most."""
    every = [each for each in read_pipelines(journal) if each.events[-1].at >= fit.at]
    return max(every, key=lambda each: each.events[-1].at, default=None)


def _after_the_cache(groups: list[StepsEnded], pipeline: Pipeline | None) -> list[StepsEnded]:
    """A pipeline with a cache is slow until it is filled, once: those steps are not counted."""
    if pipeline is None:
        return groups
    for event in pipeline.events:
        left = pipeline.count_left_to_cache(event)
        if left is None:
            return groups if not pipeline.has("cache") else [group for group in groups if group.epoch > groups[0].epoch]
        if left == 0:
            return [group for group in groups if group.at > event.at]
    return []


def _hardest(pipeline: Pipeline | None, groups: list[StepsEnded]) -> tuple[StageWork, float] | None:
    """What filled a cache has not worked since, and has no part in the wait of later steps."""
    if pipeline is None:
        return None
    return pipeline.hardest(after=groups[0].at - groups[0].seconds if pipeline.has("cache") else None)


def _device_is_busy(journal: Journal, since: float, until: float) -> bool:
    seen = [
        look.busy_percent for look in journal.since(DeviceSampled, since) if look.at <= until and look.busy_percent is not None
    ]
    return bool(seen) and sum(seen) / len(seen) >= DEVICE_BUSY_PERCENT


# --- Python code that makes the input ---


def _python(journal: Journal, samples: list[StackSampled], hardest: tuple[StageWork, float] | None) -> PythonInput | None:
    found = [(sample, threads) for sample in samples if (threads := _input_threads(sample))]
    is_known = hardest is not None and hardest[0].is_python  # then the samples need only say where
    if len(found) < (2 if is_known else MIN_SAMPLES) or (not is_known and len(found) < SEEN_IN_PYTHON * len(samples)):
        return None
    return _described(journal, found, len(samples))


def _takes_the_interpreter(wait: Wait, python: PythonInput | None) -> bool:
    """Threads that make the input hold the interpreter's lock nearly all the time: then the step itself, which needs it too, is
    slow because of them, and part of the wait hides in it. Threads that are ahead of the training would rest."""
    return (
        python is not None
        and python.gil_share is not None
        and python.gil_share * len(python.samples) >= INTERPRETER_SHARE * python.looked
        and min(wait.share, wait.recent_share) >= WAITS_TOO
    )


def _input_threads(sample: StackSampled) -> list[tuple[ThreadStack, list[Frame]]]:
    return [(thread, frames) for thread in sample.threads if (frames := find_input_frames(thread))]


def _described(
    journal: Journal, found: list[tuple[StackSampled, list[tuple[ThreadStack, list[Frame]]]]], looked: int
) -> PythonInput:
    lines: Counter[tuple[str, str, int]] = Counter()
    waits: Counter[str] = Counter()
    held: list[bool] = []
    for _, threads in found:
        working = [pair for pair in threads if pair[0].get("gil") or pair[0]["active"]] or threads
        for thread, frames in working:
            lines[frames[0]["file"], frames[0]["function"], frames[0]["line"]] += 1
            waits[find_wait(thread) or ""] += 1
        if any("gil" in thread for thread, _ in threads):
            held.append(any(thread.get("gil") for thread, _ in threads))
    (file, function, line), _ = lines.most_common(1)[0]
    words, times = waits.most_common(1)[0]
    samples = tuple(sample for sample, _ in found)
    return PythonInput(
        place=format_where({"file": file, "function": function, "line": line, "module": ""}, find_program_folder(journal)),
        function=function,
        samples=samples,
        looked=looked,
        cores=_cores(journal, samples, {thread["id"] for _, threads in found for thread, _ in threads}),
        gil_share=sum(held) / len(held) if held else None,
        awaits=words if words and times * 2 > sum(waits.values()) else None,
        threads=max(len(threads) for _, threads in found),
    )


def _cores(journal: Journal, samples: tuple[StackSampled, ...], threads: set[int]) -> float | None:
    """How much these threads ran or were ready to run, all together. Threads may be made anew with each epoch, so it is summed
    from look to look, over the threads that both of them saw."""
    seen = [event for event in journal.since(ThreadsSeen, samples[0].at - 1.0) if event.pid == samples[0].pid]
    ran_ms, watched_s = 0.0, 0.0
    for before, after in itertools.pairwise(seen):
        pairs = [(find(before, thread), find(after, thread)) for thread in threads]
        spent = [_ready_ms(new) - _ready_ms(old) for old, new in pairs if _is_timed(old) and _is_timed(new)]
        if spent:
            ran_ms += sum(spent)
            watched_s += after.at - before.at
    return ran_ms / 1000 / watched_s if watched_s >= MIN_SECONDS / 2 else None


def _is_timed(look: dict[str, Any] | None) -> bool:
    return look is not None and look.get("cpu_ms") is not None


def _ready_ms(look: dict[str, Any] | None) -> float:
    return 0.0 if look is None else (look.get("cpu_ms") or 0.0) + (look.get("queued_ms") or 0.0)


# --- a loop of one's own over a Python generator: no wait is measured there ---


def _by_samples(
    journal: Journal, fit: FitBegan, groups: list[StepsEnded], samples: list[StackSampled], hosts: tuple[HostSampled, ...]
) -> InputStarvation | str:
    if fit.api != "own_loop":
        return "the wait for input was not measured"
    generators = {(source.file, source.function) for source in journal.of(SourceRead) if source.is_generator}
    found = [
        (sample, [(thread, frames)])
        for sample in samples
        if (thread := main_thread(sample)) is not None and (frames := _in_generator(thread, generators))
    ]
    seconds = groups[-1].at - groups[0].at
    enough = len(found) >= MIN_SAMPLES and seconds >= MIN_SECONDS and sum(map(_count, groups)) >= MIN_STEPS
    if not enough or len(found) / len(samples) < STARVED_SHARE:
        return "the loop was not found waiting for a generator"
    return InputStarvation(None, len(found) / len(samples), _described(journal, found, len(samples)), None, None, hosts)


def _in_generator(thread: ThreadStack, generators: set[tuple[str, str]]) -> list[Frame]:
    """The user's frames down to a generator of theirs that another function of theirs goes through, innermost first."""
    users = select_user_frames(thread)
    for index, frame in enumerate(users[:-1]):
        name = frame["function"].rpartition(".")[2]
        if is_user_file(frame["file"]) and (frame["file"], name) in generators:
            return users[: index + 1]
    return []
