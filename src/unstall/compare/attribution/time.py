"""Which difference explains how much of a step's time: by the part of the step that changed, and what touches that part.

What a change should do to its part is known for some (twice the batch: twice the work) and guessed for others (a prefetch that is
gone); a difference that should have made the part quicker explains nothing of a part that is slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unstall.compare.attribution.explanation import ChannelExplanation, Explanation
from unstall.compare.attribution.memory_terms import RunPair
from unstall.compare.attribution.noise import FigureChange
from unstall.compare.differences.difference import COMPILE, COMPUTE, INPUT, VALIDATION, Difference

TIME = "time"
BY_WORK = frozenset({"batch", "image_size", "filters", "layers", "model"})
UNKNOWN = 0.3  # the logarithm of what a change may do of which nothing is known: a third more, or less
GONE_SLOWS = {"prefetch": 1.0, "cache": 1.5}  # that make the input slower when they go, and quicker when they come
COME_SLOWS = {"augmentation": 0.6, "stages": 0.5}  # the other way round
FEWER_SLOWS = frozenset({"parallelism", "threads", "cores"})
MORE_SLOWS = frozenset({"batch", "large_images", "boxes"})  # the input; of what is computed a batch is known by its work
STEP_PARTS = (INPUT, COMPUTE)
FLAT = 0.02  # a logarithm so near to 0 says nothing


@dataclass(frozen=True)
class ExpectedEffect:
    """What a difference should do to a part: the logarithm of the factor. `is_known`: by its sign at least."""

    difference: Difference
    by: float
    is_known: bool


def explain(
    differences: Sequence[Difference], before: dict[str, Any], after: dict[str, Any], moved: dict[str, FigureChange]
) -> ChannelExplanation:
    """By parts; where parts were not told apart, by the step as a whole."""
    beside = RunPair.of(before, after)
    found: list[Explanation] = []
    left: list[tuple[str, float, tuple[str, ...]]] = []
    for part in _parts(moved):
        pushes = [_push(each, part, beside) for each in _touching(differences, part)]
        explained, rest, candidates = _of_part(part, pushes, moved[part])
        found += explained
        if abs(rest) > moved[part].noise and part in STEP_PARTS:
            left.append((part, rest, candidates))
    if not found:
        found, left = _of_the_step(differences, beside, moved, left)
    found.sort(key=lambda each: -each.share)
    words = "; ".join(
        f"{_format_seconds(rest)} per step of {part}, for which nothing that differs is known to be the cause"
        for part, rest, _ in left
    )
    candidates = tuple(dict.fromkeys(name for _, _, names in left for name in names))
    return ChannelExplanation(
        TIME, tuple(found), left=sum(rest for _, rest, _ in left), left_unit="s", left_words=words, candidates=candidates
    )


def _parts(moved: dict[str, FigureChange]) -> Iterable[str]:
    for part in (INPUT, COMPUTE, VALIDATION, "checkpoint", COMPILE):
        if part in moved and moved[part].is_clear:
            yield part


def _touching(differences: Sequence[Difference], part: str) -> list[Difference]:
    return [each for each in differences if part in each.touches]


def _of_the_step(
    differences: Sequence[Difference],
    beside: RunPair,
    moved: dict[str, FigureChange],
    left: list[tuple[str, float, tuple[str, ...]]],
) -> tuple[list[Explanation], list[tuple[str, float, tuple[str, ...]]]]:
    """Input and compute overlap, and may not be told apart: then by what touches either of them."""
    step = moved["step"]
    if not step.is_clear:
        return [], left
    pushes: dict[Difference, ExpectedEffect] = {}
    for part in STEP_PARTS:
        for each in _touching(differences, part):
            push = _push(each, part, beside)
            if each not in pushes or abs(push.by) > abs(pushes[each].by):
                pushes[each] = push
    found, rest, candidates = _of_part("", list(pushes.values()), step)
    if not found:
        return [], left or [("step", step.by, candidates)]
    return found, [("step", rest, candidates)] if abs(rest) > step.noise else []


def _push(each: Difference, part: str, beside: RunPair) -> ExpectedEffect:
    if each.name in BY_WORK and part in {COMPUTE, VALIDATION}:
        work, more = beside.work(()), beside.work({each.name})
        by = math.log(more / work) if work > 0 and more > 0 else 0.0
        return ExpectedEffect(each, by, abs(by) > FLAT)
    was, now = _number(each.before), _number(each.after)
    if was is not None and now is not None and was != now:
        for table, sign in ((GONE_SLOWS, -1.0), (COME_SLOWS, 1.0)):
            if each.name in table and each.section == "input":
                return ExpectedEffect(each, sign * math.copysign(table[each.name], now - was), True)
        if was > 0 and now > 0 and each.name in FEWER_SLOWS:
            return ExpectedEffect(each, math.log(was / now), True)
        if was > 0 and now > 0 and each.name in MORE_SLOWS:
            return ExpectedEffect(each, math.log(now / was), True)
    came = _came(each)
    if came and each.name in COME_SLOWS:
        return ExpectedEffect(each, came * COME_SLOWS[each.name], True)
    return ExpectedEffect(each, UNKNOWN * max(0.5, each.weight), False)


def _came(each: Difference) -> float:
    """Of lines of source: 1 where they are new, -1 where they are gone, 0 where they became others."""
    if each.section != "sources" or bool(each.before) == bool(each.after):
        return 0.0
    return 1.0 if each.after else -1.0


def _number(value: Any) -> float | None:
    """Variables of the environment are numbers as text."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _of_part(part: str, pushes: list[ExpectedEffect], moved: FigureChange) -> tuple[list[Explanation], float, tuple[str, ...]]:
    """What is explained, what is left, and who may have done it."""
    wanted = math.copysign(1.0, moved.by)
    known = [push for push in pushes if push.is_known and push.by * wanted > 0]
    unknown = [push for push in pushes if not push.is_known]
    if len(known) + len(unknown) == 1:  # nothing else that differs touches this part
        only = (known or unknown)[0]
        return [_explanation(only.difference, part, moved.by, moved, "measured")], 0.0, ()
    measured = moved.share
    expected = sum(abs(push.by) for push in known)
    scale = min(1.0, measured / expected) if expected and unknown else measured / expected if expected else 0.0
    found = [
        _explanation(push.difference, part, moved.by * min(1.0, abs(push.by) * scale / measured), moved, "by arithmetic")
        for push in known if measured
    ]  # fmt: skip
    left = moved.by - sum(each.amount for each in found)
    if abs(left) > moved.noise and len(unknown) == 1:
        found.append(_explanation(unknown[0].difference, part, left, moved, "possible"))
        left = 0.0
    return found, left, tuple(push.difference.description for push in unknown)


def _explanation(each: Difference, part: str, amount: float, moved: FigureChange, how: str) -> Explanation:
    share = abs(amount / moved.by) if moved.by else 0.0
    return replace(Explanation(each, TIME, amount, "s", how), share=min(1.0, share), part=part)


def _format_seconds(seconds: float) -> str:
    sign = "+" if seconds >= 0 else "−"
    return f"{sign}{abs(seconds) * 1000:.3g} ms" if abs(seconds) < 1 else f"{sign}{abs(seconds):.3g} s"
