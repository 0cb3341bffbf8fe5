"""Which accelerator the run will have, and who else is on it.

What is looked at
-----------------
NVIDIA cards through NVML: their memory, how busy they are, which processes hold memory on them; whether the installed backend
can use a card at all; and how large the detector is where there is none.

Why it matters
--------------
A card that another process has half filled gives an out-of-memory error that no smaller batch explains. A backend that was
installed without CUDA trains on the CPU and says so in one line among many.

When this is wrong
------------------
In a container the processes of others may not be visible: their memory is counted all the same. Other accelerators than
NVIDIA's are not seen.

What to do
----------
End the other process or choose another card (`CUDA_VISIBLE_DEVICES`); install the backend with CUDA; without a card take a
smaller model.
"""

from __future__ import annotations

import os
from typing import Any

from unstall.base.formatting import format_size
from unstall.planning.preflight.check import CheckOk, CheckResult, CheckUnknown, CheckWarning, Context
from unstall.sensors.device import DeviceSampler

NEEDS = ("packages",)
IS_QUICK = True
HELD_SHARE = 0.1  # of a card's memory; what a desktop or an idle process takes is less
BUSY_PERCENT = 50.0  # with nobody of ours on it
MAX_PARAMETERS_ON_CPU = 5_000_000  # a step of more than these takes seconds to minutes on a few cores


def look(context: Context) -> CheckResult:
    sampler = DeviceSampler()
    if sampler.failure is not None:
        return CheckUnknown(f"cards cannot be looked at: {sampler.failure.missing}", sampler.failure.fix)
    cards = [event for event in sampler.sample({os.getpid()}) if hasattr(event, "total_bytes")]
    return judge([vars(card) for card in cards], context)


def judge(cards: list[dict[str, Any]], context: Context) -> CheckResult:
    facts = {"cards": [{key: card[key] for key in ("index", "name", "used_bytes", "total_bytes", "processes")} for card in cards]}
    if not cards:
        return _without(context, facts)
    from unstall.backends.packages import explain_gpu_install

    card = cards[0]
    free, total = format_size(card["total_bytes"] - card["used_bytes"]), format_size(card["total_bytes"])
    said = f"{len(cards)} × {card['name']}, {free} of {total} free"
    fix = explain_gpu_install(context.backend)
    if fix:
        return CheckWarning(f"{said}; but {context.backend} is installed without CUDA, and would train on the CPU", fix, facts)
    if card["used_bytes"] > HELD_SHARE * card["total_bytes"]:
        return CheckWarning(f"{said}; {_holders(card)}", "end them, or choose another card: CUDA_VISIBLE_DEVICES=1", facts)
    if (card["busy_percent"] or 0) > BUSY_PERCENT:
        return CheckWarning(
            f"{said}; it is {card['busy_percent']:.0f} % busy with others' work", "wait, or choose another card", facts
        )
    return CheckOk(said, facts)


def _without(context: Context, facts: dict[str, Any]) -> CheckResult:
    size_of_it = f"{context.settings.model} has {context.published_parameters / 1e6:.1f} million weights"
    if context.published_parameters > MAX_PARAMETERS_ON_CPU:
        fix = "a smaller model (`unstall train --list-models`), or a machine with a card"
        return CheckWarning(f"no NVIDIA card: it trains on the CPU, and {size_of_it}", fix, facts)
    return CheckOk(f"no NVIDIA card: it trains on the CPU; {size_of_it}", facts)


def _holders(card: dict[str, Any]) -> str:
    shown = [
        f"process {each['pid']} {each['name']} holds {format_size(each['bytes'] or 0)}".replace("  ", " ")
        for each in card["processes"]
    ]
    return "; ".join(shown[:3]) or "processes that cannot be seen from here hold the rest"
