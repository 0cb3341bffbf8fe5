"""Memory of trainings by `unstall train`, planned: the older run's settings with one change of the newer at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from unstall.compare import facts
from unstall.compare.attribution_memory import ALL, Alone
from unstall.compare.difference import MEMORY, Difference
from unstall.compare.differences_of_surroundings import SETTINGS
from unstall.errors import UnstallError

if TYPE_CHECKING:
    from unstall.memory.needs import Question
    from unstall.settings import Settings

NOT_PLANNED = frozenset({"large_images", "data_size", "prefetch", "cache", "threads"})  # they change the host, not the step


def planner(
    before: dict[str, Any], after: dict[str, Any], told: Callable[[Question], None] | None = None
) -> Callable[[Sequence[Difference]], Alone | None]:
    """For `attribution.compared`: None where one of the runs has no settings, or nothing can be planned here."""

    def plan(differences: Sequence[Difference]) -> Alone | None:
        own = [each for each in differences if each.section == "settings" and MEMORY in each.touches]
        changes = {each.name: _change(each) for each in own if each.name not in NOT_PLANNED}
        settings = facts.settings(before)
        if not settings or not facts.section(after, "settings") or not changes:
            return None
        try:
            return _planned(settings, changes, told)
        except UnstallError:
            return None  # arithmetic is what is left

    return plan


def _change(each: Difference) -> dict[str, Any]:
    if each.detail.startswith("detector."):
        return {"detector": {each.detail.removeprefix("detector."): each.after}}
    names = [each.detail] if each.detail else [name for name, kind in SETTINGS.items() if kind == each.name]
    return {names[0]: each.after}


def _planned(settings: dict[str, Any], changes: dict[str, dict[str, Any]], told: Callable[[Question], None] | None) -> Alone:
    from unstall.memory.asking import Asking
    from unstall.memory.planning import step_need

    with Asking(told) as asking:

        def need(*some: dict[str, Any]) -> float:
            return float(step_need(_with(settings, some), asking).need)

        base = need()
        alone = {name: need(change) - base for name, change in changes.items()}
        alone[ALL] = need(*changes.values()) - base if len(changes) > 1 else sum(alone.values())
    return alone


def _with(settings: dict[str, Any], changes: Sequence[dict[str, Any]]) -> Settings:
    from unstall.settings import from_plain

    plain = dict(settings)
    for change in changes:
        for name, value in change.items():
            plain[name] = {**plain.get(name, {}), **value} if name == "detector" else value
    if plain.get("micro_batch") and plain["batch_size"] % plain["micro_batch"]:
        plain["micro_batch"] = None
    return from_plain(plain)
