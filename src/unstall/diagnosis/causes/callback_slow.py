"""A callback takes a large part of the training's time.

What it is
----------
Keras calls callbacks between its steps, and nothing is trained until they return. One that draws pictures, computes a metric of
its own in Python, writes a large table or talks to a slow server after each batch or epoch takes its time from the training; the
device idles meanwhile.

How we know
-----------
Where callbacks together take long, each is timed by itself, without the validations, predictions and saves in it (those are told
apart). One of them takes more than the share below of the time, over several calls, and also without its longest one. It works,
as the CPU time of the thread that trains says or the stacks show, or these show what it waits for. One that only sleeps does so
because it is meant to, and is not called slow.

When this is wrong
------------------
If what it does is worth its time, and cannot be done beside the training: then the price is known.

What to do
----------
Do it less often: every hundredth batch, every fifth epoch. Hand it to a thread or a process of its own. Keep numbers on the
device until they are needed: each value that a callback reads after a batch is waited for.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from unstall.diagnosis.causes.callback_blocked import find_callback_frames, is_meant
from unstall.diagnosis.thread_waits import find, find_wait
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import CallbacksTimed, Frame, StackSampled, StepsEnded, ThreadsSeen
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, main_thread

SLOW_SHARE = 0.4  # of the time, for one callback
MAX_OF_IT = 0.6  # from here on it is certain
MIN_SLOW_S = 8.0  # what costs less in all is not worth a word
MIN_CALLS = 3  # that were timed
WORKS_SHARE = 0.5  # of a callback's time on the CPU: it works
CROWDED_SHARE = 0.05  # the least that one who works gets of a crowded machine's CPU; a sleep that is over waits for a core, too
MIN_SEEN = 3  # stack samples that show that a callback works, or what it waits for; more of them than show a sleep
SEEN_TOGETHER_S = 2.0  # a look at stacks and one at the kernel's account belong together

_WHEN = {"on_train_batch_end": "after each batch", "on_epoch_begin": "before each epoch", "on_epoch_end": "after each epoch"}


@dataclass(frozen=True)
class CallbackTime:
    """A callback's time, over all its calls since callbacks are timed."""

    name: str
    place: str | None
    hook: str
    seconds: float
    share: float
    calls: int
    timed: int  # of these
    each_s: float
    cpu_share: float  # of its own time


@dataclass(frozen=True)
class CallbackSample:
    """A look at the stacks that met the program's own code in a callback."""

    sample: StackSampled
    frames: list[Frame]
    awaits: str | None
    works: bool  # on a core, or ready for one that others use


def examine(journal: Journal) -> Verdict:
    if not any(group.phase == "train" for group in journal.of(StepsEnded)):
        return Unknown("steps of a training")
    timed = journal.last(CallbacksTimed)
    if timed is None or timed.seconds <= 0:
        return Clear("callbacks take little of the time")
    slow = max((_of(row, timed) for row in timed.callbacks), key=lambda each: each.seconds, default=None)
    if slow is None or slow.seconds < MIN_SLOW_S or slow.share < SLOW_SHARE or slow.timed < MIN_CALLS:
        return Clear("no callback takes a large part of the time")
    seen = _seen(journal, timed, slow)
    works, awaits = _works(slow, seen), _awaited(seen)
    if works or awaits is not None:
        return _found(journal, timed, slow, seen, "computes" if works else f"waits for {awaits}")
    if journal.since(StackSampled, timed.at - timed.seconds):
        return Clear(f"nothing shows that {slow.name} works, or waits for something else than time to pass")
    return Unknown(f"what the callback {slow.name} waits for: no stacks were sampled")


def _of(row: dict[str, Any], timed: CallbacksTimed) -> CallbackTime:
    """All its calls, as long as those that were timed on average; without the longest of them, which may be a chance."""
    count = int(row["timed"])
    each_s = (row["seconds"] - row["longest_s"]) / (count - 1) if count > 1 else 0.0
    calls = timed.calls.get(row["hook"], count)
    return CallbackTime(
        name=str(row["name"]),
        place=row["where"],
        hook=str(row["hook"]),
        seconds=each_s * calls,
        share=each_s * calls / timed.seconds,
        calls=calls,
        timed=count,
        each_s=each_s,
        cpu_share=row["cpu_s"] / row["seconds"] if row["seconds"] else 0.0,
    )


def _seen(journal: Journal, timed: CallbacksTimed, slow: CallbackTime) -> list[CallbackSample]:
    """What stacks have shown of its method since callbacks are timed."""
    looks = journal.of(ThreadsSeen)
    result = []
    for sample in journal.since(StackSampled, timed.at - timed.seconds):
        thread = main_thread(sample) if sample.main and not sample.native else None
        frames = find_callback_frames(thread) if thread is not None else []
        if thread is None or not frames or not _is_of(slow, frames[-1]):
            continue
        near = [look for look in looks if 0 <= look.at - sample.at < SEEN_TOGETHER_S and look.pid == sample.pid]
        text = find(near[0], thread["id"]) if near else None
        call = str(text["call"]) if text and text.get("call") else None
        result.append(CallbackSample(sample, frames, find_wait(thread, call), thread["active"] or call == "running"))
    return result


def _is_of(slow: CallbackTime, frame: Frame) -> bool:
    """Whether it is the callback's method that the framework has called here: on_epoch_end, or Draw.on_epoch_end."""
    names = (slow.hook, slow.hook.replace("on_train_", "on_"), "<lambda>")
    file = slow.place.rpartition(":")[0] if slow.place else frame["file"]
    return frame["function"].rpartition(".")[2] in names and frame["file"] == file


def _works(slow: CallbackTime, seen: list[CallbackSample]) -> bool:
    """On a crowded machine it gets little of the CPU, and yet it is no rest that it takes."""
    count = sum(each.works for each in seen)
    is_seen = count >= MIN_SEEN and count > len(seen) / 2
    return slow.cpu_share >= (CROWDED_SHARE if is_seen else WORKS_SHARE)


def _awaited(seen: list[CallbackSample]) -> str | None:
    """What most looks show it waiting for; None where they show no such thing, or a sleep."""
    result = Counter(each.awaits for each in seen if each.awaits is not None)
    waits = {words: count for words, count in result.items() if not is_meant(words)}
    sleeps = result.total() - sum(waits.values())
    return max(waits, key=lambda words: waits[words]) if sum(waits.values()) >= max(MIN_SEEN, sleeps + 1) else None


def _found(journal: Journal, timed: CallbacksTimed, slow: CallbackTime, seen: list[CallbackSample], does: str) -> Found:
    folder = find_program_folder(journal)
    whose = "Your" if slow.place else "The"
    when = _WHEN.get(slow.hook, "each time")
    claim = f"{slow.hook} of {slow.name}: {slow.calls:,} calls; {slow.timed:,} were timed, {slow.each_s:.2g} s each on average"
    return Found(
        certainty=Certainty.CERTAIN if slow.share >= MAX_OF_IT else Certainty.LIKELY,
        summary=(
            f"{whose} callback {slow.name} takes about {slow.share:.0%} of the training's time: {slow.each_s:.2g} s {when}, in "
            f"which it {does}. The next step waits for it."
        ),
        evidence=(Evidence(claim, slow.share, SLOW_SHARE, (timed,)), *_lines(seen, folder)),
        actions=(
            f"let {slow.name} do it less often: every hundredth batch, every fifth epoch",
            "hand it to a thread or a process of its own, so that the training need not wait",
        ),
        where=slow.place,
        effect=Effect.SLOWS,
    )


def _lines(seen: list[CallbackSample], folder: str) -> tuple[Evidence, ...]:
    """The line that it was met at most often."""
    places = Counter(format_where(each.frames[0], folder) for each in seen)
    if not places:
        return ()
    place, count = places.most_common(1)[0]
    samples = tuple(each.sample for each in seen if format_where(each.frames[0], folder) == place)
    return (Evidence(f"{count} of {len(seen)} looks into it found it at {place}", place, None, samples),)
