"""The program's memory grows with every step and is never given back.

What it is
----------
Something is kept that should be let go: losses kept as tensors (each with its graph), outputs or batches in a list that nobody
empties, a cache without an end (`ds.cache()` after `repeat()`, a dict whose keys never come twice), functions that are compiled
anew and kept. The run gets slower and is killed in the end, often after hours.

How we know
-----------
The least memory that the program needs, quarter by quarter of the time looked at, rises evenly, through several passes over
the data and beyond the first one, in which caches fill. Inside the program, while memory grows, its own lists and dicts are
counted: one that grows from look to look, is never emptied by any line of the source and accounts for the growth is named, with
the line that adds to it.

When this is wrong
------------------
If a cache is meant to grow through many passes and will end before the memory does.

What to do
----------
Keep numbers instead of tensors: `losses.append(float(loss))`, `.detach()` or `.numpy()` for what must stay. Empty the list at
the end of each epoch. Put `cache()` before `repeat()`. Make a `tf.function` once, outside the loop.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unstall.base.formatting import format_approximate_duration, format_size
from unstall.diagnosis.host_memory import Growth, find_growth_in_training, find_growth_over_passes, find_pass_ends, measure_room
from unstall.diagnosis.out_of_memory import find_memory_kill
from unstall.diagnosis.probe_facts import shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import Event, FunctionTraced, HoldingsCounted, HostSampled, PipelineBuilt, StepsEnded
from unstall.journal.reader import Journal

EXPLAINS = ("host_memory_exhausted", "swapping", "killed_from_outside")
MIN_S = 15.0  # of growth over whole passes
MIN_INSIDE_S = 20.0  # of growth, where what grows is seen but passes are not
EXPLAINED_SHARE = 0.3  # of the growth that a container must account for to be named
MIN_LOOKS = 3  # in so many looks in a row it must have grown
MIN_RECREATED = 20  # functions
FULL_WITHIN_H = 48.0  # slower growth than this is no danger to a run

_GRAPH = "with its graph"


def examine(journal: Journal) -> Verdict:
    if not journal.of(HostSampled):
        return Unknown("samples of the host's memory")
    cache = _endless_cache(journal)
    if cache is not None:
        return cache
    growth = find_growth_over_passes(journal, MIN_S)
    holder = _holder(journal, growth)
    if growth is None and holder is not None and _is_forgotten(holder[1]):
        growth = find_growth_in_training(journal, journal.of(HoldingsCounted)[0].at, MIN_INSIDE_S)
    if growth is not None and holder is not None:
        return _judged(journal, growth, *_from_holder(journal, growth, *holder))
    if _fills_up(journal):
        return Clear("a buffer with a greatest length fills up")
    traced = _recreated_function(journal)
    if growth is None and traced is not None:
        growth = find_growth_in_training(journal, _first_step_at(journal), MIN_S)
    if growth is None:
        return _not_yet(journal)
    if traced is not None:
        judged = _judged(journal, growth, *_from_functions(journal, traced))
        # Nobody keeps them but TensorFlow: the memory is what making them anew costs besides the time.
        return replace(judged, effect=Effect.SLOWS) if isinstance(judged, Found) else judged
    if _is_retraced(journal):
        return Clear("the growth is that of functions traced again and again")
    return _judged(
        journal, growth, "", None, [], ("look for what is kept from step to step: lists, dicts, tensors, functions",), False
    )


def _not_yet(journal: Journal) -> Verdict:
    if not any(group.phase == "train" for group in journal.of(StepsEnded)) and not journal.of(HoldingsCounted):
        return Clear("no training step has ended: memory grows while things are made and loaded")
    if len(find_pass_ends(journal)) < 2:
        return Clear("its memory does not grow, or this is the first pass over the data, in which caches fill")
    return Clear("its memory does not grow evenly through the passes over the data")


def _judged(
    journal: Journal, growth: Growth, source: str, place: str | None, more: list[Evidence], do: tuple[str, ...], sure: bool
) -> Verdict:
    last = growth.hosts[-1]
    left = measure_room(last)
    hours = left.left_bytes / growth.bytes_s / 3600 if left else 0.0
    kill = find_memory_kill(journal)
    if hours > FULL_WITHIN_H:
        return Clear(f"it grows so slowly that memory lasts for {hours:.0f} hours")
    full = f" At this rate {left.of} is full in {format_approximate_duration(hours * 3600)}." if left and kill is None else ""
    grown = f"its memory has grown by {format_size(growth.grown_bytes)} in {format_approximate_duration(growth.seconds)}, evenly"
    per_step = _per_step(journal, growth)
    evidence = [Evidence(f"{grown}{per_step}", growth.grown_bytes, None, growth.hosts), *more]
    because = f" {source}" if source else ""
    return Found(
        certainty=Certainty.CERTAIN if sure else Certainty.LIKELY,
        summary=f"The program's memory grows by {format_size(growth.bytes_s * 60)} a minute and is not given back."
        f"{because}{full}",
        evidence=tuple(evidence),
        actions=do,
        where=place,
        details={"bytes_s": growth.bytes_s},
    )


def _per_step(journal: Journal, growth: Growth) -> str:
    begin, end = growth.hosts[0].at, growth.hosts[-1].at
    steps = sum(
        group.last - group.first + 1 for group in journal.of(StepsEnded) if group.phase == "train" and begin <= group.at <= end
    )
    return f": {format_size(growth.grown_bytes / steps)} for each step" if steps else ""


# --- a container that nobody empties ---


def _holder(journal: Journal, growth: Growth | None) -> tuple[HoldingsCounted, dict[str, Any]] | None:
    """The container that accounts for the growth, if one was seen to."""
    counts = journal.of(HoldingsCounted)
    for count in reversed(counts):
        for holder in count.holders:
            if _accounts_for(count, holder) and holder.get("looks", 0) >= _looks_needed(growth) and not holder.get("bounded"):
                return count, holder
        if count.holders:
            break  # only the latest look counts: what grew before may have stopped
    return None


def _fills_up(journal: Journal) -> bool:
    count = journal.last(HoldingsCounted)
    return count is not None and any(holder.get("bounded") and _accounts_for(count, holder) for holder in count.holders)


def _looks_needed(growth: Growth | None) -> int:
    """Growth that is known already needs only a name; else the container is what tells of it."""
    return 1 if growth is not None else MIN_LOOKS


def _accounts_for(count: HoldingsCounted, holder: dict[str, Any]) -> bool:
    each = holder.get("bytes_each")
    if each is None:
        return _GRAPH in holder.get("holds", "") or _is_only_one(count, holder)
    return bool(each * holder["grown"] >= EXPLAINED_SHARE * count.grown_bytes > 0)


def _is_only_one(count: HoldingsCounted, holder: dict[str, Any]) -> bool:
    """Entries of unknown size, and nothing else that grows could account for it."""
    return all(
        other is holder or (other.get("bytes_each") or 0) * other["grown"] < EXPLAINED_SHARE * count.grown_bytes
        for other in count.holders
    )


def _is_forgotten(holder: dict[str, Any]) -> bool:
    """A list that is added to and never emptied grows for ever; of a dict that cannot be said before the second pass."""
    return holder.get("kind") in ("list", "deque") and not holder.get("sheds") and holder.get("where") is not None


def _from_holder(
    journal: Journal, growth: Growth, count: HoldingsCounted, holder: dict[str, Any]
) -> tuple[str, str | None, list[Evidence], tuple[str, ...], bool]:
    place = shorten_path(journal, holder.get("where"))
    at = f" at {place}" if place else ""
    name, what = holder["name"] or f"a {holder['kind']}", holder.get("holds") or "entry"
    each = f" of about {format_size(holder['bytes_each'])} each" if holder.get("bytes_each") else ""
    claim = f"{name}, a {holder['kind']}, has grown by {holder['grown']:,} entries to {holder['length']:,}: {what}{each}"
    if _GRAPH in what:
        action = f"keep the number instead of the tensor{at}: float(loss), or loss.detach()"
    elif holder["kind"] in ("dict", "defaultdict", "OrderedDict", "CacheLength"):
        action = f"give {name} a limit{at}, or drop it: entries whose keys do not come again are of no use"
    else:
        action = f"empty {name} at the end of each epoch, or keep numbers in it instead of what lies in it now{at}"
    evidence = [Evidence(claim, holder["grown"], None, (count,))]
    return f"{name}{at} has grown by {holder['grown']:,} entries: {what}.", place, evidence, (action,), not holder.get("sheds")


# --- a cache of tf.data without an end ---


def _endless_cache(journal: Journal) -> Found | None:
    """cache() in memory of what has no end, or of more than fits."""
    for stage in journal.of(PipelineBuilt):
        if stage.stage != "cache" or stage.arguments.get("argument_0") or stage.arguments.get("filename"):
            continue
        elements, each = stage.arguments.get("elements", -2), stage.arguments.get("element_bytes")
        first_step = _first_step_at(journal)
        growth = find_growth_in_training(journal, first_step, MIN_S) if first_step else None
        if growth is None:
            continue
        left = measure_room(growth.hosts[0])
        too_large = bool(each and elements > 0 and left and elements * each > left.left_bytes + growth.grown_bytes)
        if elements != -1 and not too_large:
            continue
        found = _judged(journal, growth, *_from_cache(journal, stage, elements, each))
        if isinstance(found, Found):
            return found
    return None


def _from_cache(
    journal: Journal, stage: PipelineBuilt, elements: int, each: int | None
) -> tuple[str, str | None, list[Evidence], tuple[str, ...], bool]:
    place = shorten_path(journal, stage.where)
    at = f" at {place}" if place else ""
    if elements == -1:
        source = f"cache(){at} keeps the elements of a data set that has no end: it is never complete."
        claim = "the data set that cache() keeps has no end"
        action = f"put cache() before repeat(), or before what else makes the data set endless{at}"
    else:
        total = format_size(elements * (each or 0))
        source = f"cache(){at} keeps {elements:,} elements of {format_size(each or 0)}: {total}, more than was free."
        claim = f"cache() keeps {elements:,} elements"
        action = f"cache to a file, cache(filename){at}, or cache what is smaller: before the decoding"
    return source, place, [Evidence(claim, elements, None, (stage,))], (action,), True


# --- functions made anew ---


def _recreated_function(journal: Journal) -> FunctionTraced | None:
    """A function that is made anew in the loop: each has its own traces."""
    last = {(event.function, event.where): event for event in journal.of(FunctionTraced)}
    many = [event for event in last.values() if event.objects >= MIN_RECREATED and event.why == "made anew"]
    return max(many, key=lambda event: event.objects, default=None)


def _from_functions(journal: Journal, traced: FunctionTraced) -> tuple[str, str | None, list[Evidence], tuple[str, ...], bool]:
    place = shorten_path(journal, traced.where or traced.called_at)
    at = f" at {place}" if place else ""
    name = traced.function.rpartition(".")[2]
    events: tuple[Event, ...] = (traced,)
    return (
        f"{name}{at} is made anew again and again, {traced.objects:,} times so far.",
        place,
        [
            Evidence(
                f"{traced.objects:,} functions were made from the same lines and traced", traced.objects, MIN_RECREATED, events
            )
        ],
        (f"make {name} once, outside the loop, and call it there",),
        True,
    )


def _is_retraced(journal: Journal) -> bool:
    return any(event.count >= MIN_RECREATED and event.count * 3 >= event.calls for event in journal.of(FunctionTraced))


def _first_step_at(journal: Journal) -> float:
    return next((group.at for group in journal.of(StepsEnded) if group.phase == "train"), 0.0)
