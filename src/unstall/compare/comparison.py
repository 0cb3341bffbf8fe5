"""Two runs compared, as plain data: what differs, what it explains, how the runs differed, their curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unstall.base.formatting import format_size
from unstall.compare.attribution import loss, memory, noise, time
from unstall.compare.attribution.explanation import ChannelExplanation, Explanation, format_amount
from unstall.compare.attribution.memory import Alone
from unstall.compare.attribution.noise import FigureChange
from unstall.compare.differences.difference import LOSS, Difference
from unstall.compare.differences.finder import find_differences
from unstall.compare.record import facts

NOTHING = "nothing that matters differs"
MAX_CANDIDATES = 3
OF_THE_LOSS = {"first loss": LOSS, "AP": LOSS}  # figures that are moved by what the loss is moved by
SAME_RUN = "this is one run, compared with itself"
SHOWN_OF_A_RUN = ("name", "script", "outcome", "exit_code", "cause", "began_at", "seconds")


def compare_as_plain(
    before: dict[str, Any], after: dict[str, Any], planned: Callable[[Sequence[Difference]], Alone | None] = lambda _: None
) -> dict[str, Any]:
    """Of two records, the older first."""
    comparison = compare_records(before, after, planned)
    return {
        "before": _run(before),
        "after": _run(after),
        "summary": [*([SAME_RUN] if _is_same(before, after) else []), *describe_answer(comparison)],
        "differences": [_difference(each, comparison) for each in comparison.differences],
        "metrics": [each.as_plain() for each in comparison.moved.values() if each.before or each.after],
        "explanations": [each.as_plain() for each in comparison.explained if each.explanations or each.left_words],
        "curves": {
            "loss": {"before": facts.get_curve(before), "after": facts.get_curve(after)},
            "memory": {"before": _memory_curve(before), "after": _memory_curve(after)},
        },
    }


def _is_same(before: dict[str, Any], after: dict[str, Any]) -> bool:
    path = facts.get_section(before, "run").get("path")
    return bool(path) and path == facts.get_section(after, "run").get("path")


def describe_answer(comparison: Comparison) -> list[str]:
    """A sentence each: what explains the change, the main cause first; or that nothing differs, or that nothing explains it."""
    if not comparison.differences:
        return [NOTHING]
    lines = []
    for each in comparison.differences:
        amounts = [own.words for own in comparison.explanations if own.difference is each]
        if amounts:
            lines.append(f"{each.description}: {', '.join(amounts)}")
    lines += [line for explained in comparison.explained for line in describe_remainder(explained)]
    lines = lines or [_without_explanation(comparison)]
    return lines + [each.note for each in comparison.moved.values() if each.note]


def _without_explanation(comparison: Comparison) -> str:
    """Nothing is explained: because nothing moved, or because nothing that differs is known to move it."""
    clear = [each for each in comparison.moved.values() if each.is_clear]
    shown = [each for each in comparison.moved.values() if each.before or each.after]
    missing = [each.what for each in shown if each.before is None or each.after is None]
    if not clear and missing:
        return (
            f"measured in only one of the runs: {', '.join(missing)}; nothing else changed by more than runs differ by themselves"
        )
    if not clear:
        return "nothing of it changed memory, time or loss by more than runs differ by themselves"
    text = ", ".join(f"{each.what} {_value(each.before, each.unit)} → {_value(each.after, each.unit)}" for each in clear)
    touched = {OF_THE_LOSS.get(each.what, each.what) for each in clear}
    may = [each.description for each in comparison.differences if touched & each.touches][:MAX_CANDIDATES]
    return f"not explained: {text}; " + (
        f"it may be: {', '.join(may)}" if may else "nothing that differs is known to be the cause"
    )


def describe_remainder(explained: ChannelExplanation) -> list[str]:
    """What changes do only together, and what is not explained."""
    lines = []
    own = [abs(each.amount) for each in explained.explanations]
    if own and abs(explained.together) > 0.05 * max(own) and len(own) > 1:
        lines.append(f"these together, beyond what each does alone: {format_amount(explained.together, explained.left_unit)}")
    if explained.left_words:
        may = f"; it may be: {', '.join(explained.candidates[:MAX_CANDIDATES])}" if explained.candidates else ""
        lines.append(f"not explained: {explained.left_words}{may}")
    return lines


def _difference(each: Difference, comparison: Comparison) -> dict[str, Any]:
    own = [explanation for explanation in comparison.explanations if explanation.difference is each]
    return {**each.as_plain(), "explains": [explanation.as_plain() for explanation in own], "amounts": [e.words for e in own]}


def _run(record: dict[str, Any]) -> dict[str, Any]:
    run = facts.get_section(record, "run")
    return {name: run.get(name) for name in SHOWN_OF_A_RUN}


def _memory_curve(record: dict[str, Any]) -> list[list[float]]:
    figures = facts.get_section(record, "figures")
    rows = figures.get("device_memory_curve") or figures.get("host_memory_curve")
    return [list(row) for row in rows if isinstance(row, list | tuple) and len(row) == 2] if isinstance(rows, list) else []


def describe_change(moved: dict[str, Any]) -> tuple[str, str]:
    """Before and after, as a person reads them."""
    return _value(moved["before"], moved["unit"]), _value(moved["after"], moved["unit"])


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return "not measured"
    if unit == "B":
        return format_size(value)
    if unit == "s":
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
    return f"{value:.4g}"


# Which difference explains how two runs differed, with an amount each; the main cause first.


CHANNELS = ("memory", "free", "time", "loss")
WEIGHTS = {"memory": 1.0, "free": 1.0, "time": 0.5, "loss": 0.7}  # time is what else moves most by itself
FAILED = 10.0  # times: what the newer run failed of is what is asked for
MAX_MOVED = 3.0
LIKELY = {"measured": 1.0, "planned": 1.0, "by arithmetic": 0.9, "possible": 0.6}
MIN_SHARE = 0.02


@dataclass(frozen=True)
class Comparison:
    differences: tuple[Difference, ...]  # the main cause first
    moved: dict[str, FigureChange]
    explained: tuple[ChannelExplanation, ...]

    @property
    def explanations(self) -> list[Explanation]:
        """All of them, those of the main cause first."""
        places = {each: place for place, each in enumerate(self.differences)}
        own = [each for explained in self.explained for each in explained.explanations]
        return sorted(own, key=lambda each: (places[each.difference], CHANNELS.index(each.channel)))

    def of_channel(self, channel: str) -> ChannelExplanation:
        return next((each for each in self.explained if each.channel == channel), ChannelExplanation(channel))


def compare_records(
    before: dict[str, Any], after: dict[str, Any], planned: Callable[[Sequence[Difference]], Alone | None] = lambda _: None
) -> Comparison:
    """Two records beside each other. `planned` plans memory with one change at a time, where it can."""
    found = find_differences(before, after)
    moved = noise.measure_all_changes(before, after)
    explained = (
        memory.explain(found, before, after, moved["memory"], planned(found) if found else None),
        memory.find_free_terms(found, after),
        time.explain(found, before, after, moved),
        loss.explain(found, before, after, moved["loss"], moved["first loss"]),
    )
    kept = tuple(_without_small(each) for each in explained)
    ranked = sorted(found, key=lambda each: -(_importance(each, kept, moved, after) + 0.001 * each.weight))
    return Comparison(tuple(ranked), moved, kept)


def _without_small(explained: ChannelExplanation) -> ChannelExplanation:
    kept = tuple(each for each in explained.explanations if each.share >= MIN_SHARE)
    return replace(explained, explanations=kept)


def _importance(
    each: Difference, explained: Sequence[ChannelExplanation], moved: dict[str, FigureChange], after: dict[str, Any]
) -> float:
    """How much of what matters it explains: a channel counts by how far it moved, the one that the run failed of most."""
    failed = facts.list_failed_channels(after)
    best = 0.0
    for channel in explained:
        for own in channel.explanations:
            if own.difference is not each:
                continue
            weight = WEIGHTS[channel.channel] * (FAILED if channel.channel in failed else 1.0)
            best = max(best, weight * LIKELY[own.how] * own.share * _strength(own, moved, channel.channel in failed))
    return best


def _strength(own: Explanation, moved: dict[str, FigureChange], is_failed: bool) -> float:
    if own.channel == "free" or math.isnan(own.amount):
        return MAX_MOVED
    name = {"memory": "memory", "loss": "loss", "time": "step"}[own.channel]
    moving = moved.get(own.part) if own.part in {"compile", "validation", "checkpoint"} else moved.get(name)
    share = moving.share if moving is not None else 0.0
    if own.part in {"validation", "checkpoint", "compile"}:
        share *= 0.3  # seldom what is asked about
    return MAX_MOVED if is_failed and own.channel == "memory" else min(share, MAX_MOVED)
