"""Which difference explains how much of the memory: the older run with one change of the newer at a time.

How many copies of its activations a step keeps is not known beforehand. It is found out from both runs where both were
measured to their end, from the older alone where the newer died of it; always within what is plausible. What does not fit is
left, and said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unstall.base.errors import UnstallError
from unstall.base.formatting import format_size
from unstall.compare.attribution.explanation import ChannelExplanation, Explanation
from unstall.compare.attribution.memory_terms import MODELLED, RunPair, Terms
from unstall.compare.attribution.noise import ON_A_CARD, FigureChange
from unstall.compare.differences.difference import FREE, MEMORY, Difference
from unstall.compare.differences.environment import SETTINGS
from unstall.compare.record import facts

if TYPE_CHECKING:
    from unstall.config.settings import Settings
    from unstall.planning.memory.messages import Question

Alone = dict[str, float]  # by the name of a change: what it adds to the older run by itself
ALL = ""  # the name of all changes at once


@dataclass(frozen=True)
class Copies:
    """Of a term: how many times it is usually held, by how much that may be wrong (as a factor), and by how much at most."""

    usual: float
    unsure: float
    most: float


COPIES = {
    "activations": Copies(1.6, 1.0, 6.0),
    "guessed": Copies(1.0, 1.5, 20.0),
    "weights": Copies(1.2, 0.5, 3.0),
    "slots": Copies(1.0, 0.4, 3.0),
    "input": Copies(2.0, 0.8, 6.0),
    "decoding": Copies(1.0, 1.0, 6.0),
    "matching": Copies(3.0, 1.5, 12.0),
    "data": Copies(1.3, 0.7, 4.0),
}
# Of these it is known how much they can do at most: what is beyond that has another reason, even where nothing else differs.
WELL_KNOWN = frozenset({"batch", "image_size", "filters", "layers", "data_size"})
MAX_SCALE_FACTOR = 2.0  # the factor that remains plausible where something else may have changed memory, too
SHARED_UNSURE = 0.15  # of an amount, where several changes share what was measured: which of them had how much of it
DIED_UNSURE = 0.25  # of an amount, where the newer run died: it is what the older one showed, carried further
PLAN_UNSURE = 0.1  # share of what a plan says, on a card
HOST_PLAN_UNSURE = 0.25  # on the host, where the plan is of the step alone
BEYOND_PLAN = 1.3  # times: on the host kernels work with memory that is in no plan (measured: 1.2 to 1.4 of what was planned)
AGREE = 2.0  # times what both are unsure by, together: a measurement and a plan that lie no further apart say the same
COMPILER_BYTES = 120 * 2**20  # about, that compilers and threads of a framework take on the host, whatever is trained
MIN_OF_THE_PEAK = 0.1  # that activations must have for the older run to show how many copies of them are kept


def explain(
    differences: Sequence[Difference],
    before: dict[str, Any],
    after: dict[str, Any],
    moved: FigureChange,
    planned: Alone | None = None,
) -> ChannelExplanation:
    """`planned`: what the planner says that each change adds by itself, where there is one."""
    touching = [each for each in differences if MEMORY in each.touches]
    is_cut_short = facts.is_out_of_memory(after)
    if not touching or (not moved.is_clear and not is_cut_short):
        return ChannelExplanation(MEMORY, left_unit="B")
    total = None if is_cut_short else moved.by
    unsure = moved.unsure or moved.noise
    if planned and moved.what != ON_A_CARD:
        planned = {name: BEYOND_PLAN * amount for name, amount in planned.items()}
    beside = RunPair.of(before, after)
    is_bounded = beside.knows_activations and beside.knows_what_is_new and touching[0].name in WELL_KNOWN
    if total is not None and len(touching) == 1 and not is_bounded and not planned:
        found = ChannelExplanation(MEMORY, (Explanation(touching[0], MEMORY, total, "B", "measured"),), left_unit="B")
    elif planned:
        total, unsure = (None, unsure) if total is None else _settled(_joint(planned), total, moved)
        found = _by_plan(touching, planned, total)
    else:
        found = _by_arithmetic(touching, beside, moved, total, facts.compute_floor_bytes(before))
    result = found if total is None else _with_what_is_left(found, touching, total, moved.noise)
    return _with_unsure(result, total, unsure)


def find_free_terms(differences: Sequence[Difference], after: dict[str, Any]) -> ChannelExplanation:
    """Room that was taken away: told where the run was short of it."""
    if not facts.is_out_of_memory(after):
        return ChannelExplanation(FREE, left_unit="B")
    lost = [each for each in differences if FREE in each.touches and each.after < each.before]
    return ChannelExplanation(
        FREE, tuple(Explanation(each, FREE, each.after - each.before, "B", "measured", 1.0) for each in lost)
    )


# --- by the planner ---


def _by_plan(touching: list[Difference], planned: Alone, total: float | None) -> ChannelExplanation:
    """A plan is of the step alone; measured is the process. Where both nearly agree, what was measured sets the scale."""
    joint = _joint(planned)
    scale = total / joint if total and joint and 1 / MAX_SCALE_FACTOR <= total / joint <= MAX_SCALE_FACTOR else 1.0
    amounts = {each.name: scale * planned.get(each.name, 0.0) for each in touching}
    found = [Explanation(each, MEMORY, amounts[each.name], "B", "planned") for each in touching if amounts[each.name]]
    together = scale * joint - sum(each.amount for each in found)
    return _ordered(ChannelExplanation(MEMORY, tuple(found), together, left_unit="B"), total or joint)


def _joint(planned: Alone) -> float:
    """What all changes add together."""
    return planned.get(ALL, sum(planned.values()))


def _settled(planned: float, measured: float, moved: FigureChange) -> tuple[float, float]:
    share = PLAN_UNSURE if moved.what == ON_A_CARD else HOST_PLAN_UNSURE
    return combine_estimates(planned, measured, moved.unsure or moved.noise, share)


def combine_estimates(planned: float, measured: float, noise: float, plan_unsure: float = PLAN_UNSURE) -> tuple[float, float]:
    """Between a plan and a measurement that agree: nearer to what is surer, and surer than both. The peak of a process is another
    one in each run, by as much as a small change adds; a plan is not. Where they do not agree, what was measured stands."""
    unsure = plan_unsure * abs(planned)
    if not unsure or abs(measured - planned) > AGREE * math.hypot(noise, unsure):
        return measured, noise
    weight = 1 / noise**2 + 1 / unsure**2
    return (measured / noise**2 + planned / unsure**2) / weight, weight**-0.5


# --- by arithmetic ---


def _by_arithmetic(
    touching: list[Difference], beside: RunPair, moved: FigureChange, total: float | None, floor: float | None
) -> ChannelExplanation:
    changes = [each for each in touching if each.name in MODELLED]
    base = beside.terms(())
    names = frozenset(each.name for each in changes)
    joint = _minus(beside.terms(names), base)
    copies = estimate_copies(base, moved.before, floor)
    others = len(touching) > len(changes)
    held = copies if total is None else fit_copies(copies, joint, total, MAX_SCALE_FACTOR if others else None)
    alone = {each.name: _bytes(_minus(beside.terms({each.name}), base), held) for each in changes}
    how = "by arithmetic" if len(changes) > 1 or others or total is None else "measured"
    found = [Explanation(each, MEMORY, alone[each.name], "B", how) for each in changes if alone[each.name]]
    together = _bytes(joint, held) - sum(each.amount for each in found)
    return _ordered(ChannelExplanation(MEMORY, tuple(found), together, left_unit="B"), total or _bytes(joint, held))


def estimate_copies(base: Terms, peak: float | None, floor: float | None) -> dict[str, float]:
    """As the older run shows them: what it held at its peak beyond what it had before the training began."""
    copies = {name: each.usual for name, each in COPIES.items()}
    name = "activations" if base["activations"] else "guessed"
    if not peak or floor is None or peak <= floor or not base[name]:
        return copies
    others = sum(copies[other] * base[other] for other in ("weights", "slots", "input")) + (COMPILER_BYTES if floor else 0.0)
    limits = COPIES[name]
    if base[name] >= MIN_OF_THE_PEAK * (peak - floor) or name == "guessed":
        copies[name] = min(max((peak - floor - others) / base[name], limits.usual / 3), limits.most)
    return copies


def fit_copies(usual: dict[str, float], joint: Terms, total: float, max_factor: float | None) -> dict[str, float]:
    """Copies with which the terms add up to what was measured. What is missing goes where most is unsure."""
    expected = _bytes(joint, usual)
    unsure = {name: (COPIES[name].unsure * usual[name] * value) ** 2 for name, value in joint.items() if value}
    whole = sum(unsure.values())
    held = dict(usual)
    for name, part in unsure.items():
        shift = (total - expected) * part / whole / joint[name]
        factor = max_factor or COPIES[name].most
        held[name] = min(max(usual[name] + shift, usual[name] / factor), usual[name] * factor)
    return held


def _minus(terms: Terms, base: Terms) -> Terms:
    return {name: value - base[name] for name, value in terms.items()}


def _bytes(terms: Terms, copies: dict[str, float]) -> float:
    return sum(copies[name] * value for name, value in terms.items())


# --- what is left ---


def _ordered(found: ChannelExplanation, total: float) -> ChannelExplanation:
    whole = abs(total) or 1.0
    kept = [replace(each, share=min(1.0, abs(each.amount) / whole)) for each in found.explanations]
    kept.sort(key=lambda each: -abs(each.amount))
    return replace(found, explanations=tuple(kept), left_unit="B")


def _with_unsure(found: ChannelExplanation, total: float | None, unsure: float) -> ChannelExplanation:
    """Each amount with what it may be wrong by."""
    whole = sum(abs(each.amount) for each in found.explanations)

    def of(each: Explanation) -> float:
        own = abs(each.amount)
        if total is None:
            return DIED_UNSURE * own
        measured = unsure * min(1.0, abs(each.amount / total)) if total else unsure
        others = whole - own  # what one was given too little of, another has too much of
        return math.hypot(measured, SHARED_UNSURE * max(own, math.sqrt(own * others)) if others else 0.0)

    return replace(found, explanations=tuple(replace(each, unsure=of(each)) for each in found.explanations))


def _with_what_is_left(found: ChannelExplanation, touching: list[Difference], total: float, noise: float) -> ChannelExplanation:
    """Given to the one difference that nothing is known of but that it may change memory; else it is left, and said."""
    left = total - sum(each.amount for each in found.explanations) - found.together
    if abs(left) <= noise:
        return _ordered(found, total)
    names = {each.difference.name for each in found.explanations}
    unknown = [each for each in touching if each.name not in names and each.name not in MODELLED]
    if len(unknown) == 1:
        how = "measured" if not found.explanations else "possible"
        taken = Explanation(unknown[0], MEMORY, left, "B", how, note="" if how == "measured" else "(what nothing else explains)")
        return _ordered(ChannelExplanation(MEMORY, (*found.explanations, taken), found.together, 0.0, "B"), total)
    words = f"{format_size(abs(left))} {'more' if left > 0 else 'less'} that none of it explains"
    candidates = tuple(each.description for each in unknown)
    return _ordered(ChannelExplanation(MEMORY, found.explanations, found.together, left, "B", words, candidates), total)


# Memory of trainings by `unstall train`, planned: the older run's settings with one change of the newer at a time.


NOT_PLANNED = frozenset({"large_images", "data_size", "prefetch", "cache", "threads"})  # they change the host, not the step


def create_planner(
    before: dict[str, Any], after: dict[str, Any], callback: Callable[[Question], None] | None = None
) -> Callable[[Sequence[Difference]], Alone | None]:
    """For `attribution.compared`: None where one of the runs has no settings, or nothing can be planned here."""

    def plan(differences: Sequence[Difference]) -> Alone | None:
        own = [each for each in differences if each.section == "settings" and MEMORY in each.touches]
        changes = {each.name: _change(each) for each in own if each.name not in NOT_PLANNED}
        settings = facts.read_settings(before)
        if not settings or not facts.get_section(after, "settings") or not changes:
            return None
        try:
            return _planned(settings, changes, callback)
        except UnstallError:
            return None  # arithmetic is what is left

    return plan


def _change(each: Difference) -> dict[str, Any]:
    if each.detail.startswith("detector."):
        return {"detector": {each.detail.removeprefix("detector."): each.after}}
    names = [each.detail] if each.detail else [name for name, kind in SETTINGS.items() if kind == each.name]
    return {names[0]: each.after}


def _planned(settings: dict[str, Any], changes: dict[str, dict[str, Any]], callback: Callable[[Question], None] | None) -> Alone:
    from unstall.planning.memory.client import PlannerClient
    from unstall.planning.memory.planner import find_step_need

    with PlannerClient(callback) as client:

        def need(*some: dict[str, Any]) -> float:
            return float(find_step_need(_with(settings, some), client).need)

        base = need()
        alone = {name: need(change) - base for name, change in changes.items()}
        alone[ALL] = need(*changes.values()) - base if len(changes) > 1 else sum(alone.values())
    return alone


def _with(settings: dict[str, Any], changes: Sequence[dict[str, Any]]) -> Settings:
    from unstall.config.settings import from_plain

    plain = dict(settings)
    for change in changes:
        for name, value in change.items():
            plain[name] = {**plain.get(name, {}), **value} if name == "detector" else value
    if plain.get("micro_batch_size") and plain["batch_size"] % plain["micro_batch_size"]:
        plain["micro_batch_size"] = None
    return from_plain(plain)
