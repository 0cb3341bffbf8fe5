"""Keeps and makes fewer images ahead: smaller caches, shorter queues, fewer threads.

What it changes
---------------
Decoded images are not kept in memory any more (`cache_bytes`, where there is no `cache_dir`), a quarter as many bytes of
batches are made ahead (`prefetch_bytes`), and half as many threads decode (`num_input_workers`). The numbers of the training
stay the same, and it goes on from its newest checkpoint.

What it costs
-------------
Steps may have to wait for input, and images are decoded in every epoch.

How we see that it helped
-------------------------
The training gets past the step in which memory ran out, or in which it was nearly full.

How to undo it
--------------
Set `cache_bytes`, `prefetch_bytes` and `num_input_workers` back to what `settings-given.json` says.
"""

from __future__ import annotations

from typing import Any

from unstall.config.settings import MIB
from unstall.diagnosis.verdict import Safety
from unstall.remedies.plan import Fault, Kind, Plan, Sign, Verb, plan_for

TREATS = {Kind.HOST_MEMORY: 1}
SAFETY = Safety.AUTO
UNDO_IF_INEFFECTIVE = False
AHEAD_BY = 4  # so much less is made ahead
MIN_AHEAD_BYTES = 8 * MIB  # below this nothing is gained


def plan(found: Fault) -> Plan | None:
    change = shrink_settings(found)
    if not change:
        return None
    parts = {
        "cache_bytes": "decoded images are not kept in memory any more",
        "prefetch_bytes": f"{change.get('prefetch_bytes', 0) / MIB:.0f} MiB of batches are made ahead",
        "num_input_workers": f"threads that decode: {change.get('num_input_workers')}",
    }
    why = "To use less host memory: " + ", ".join(parts[name] for name in change) + "."
    return plan_for(found, __name__, Verb.CHANGE, change, why, Sign(past_step=found.step))


def shrink_settings(found: Fault) -> dict[str, Any]:
    """What can be made smaller, each at once: a run that was killed should not have to be killed three times."""
    settings = found.settings
    change: dict[str, Any] = {}
    if settings.cache_bytes and settings.cache_dir is None:
        change["cache_bytes"] = 0
    if settings.prefetch_bytes // AHEAD_BY >= MIN_AHEAD_BYTES:
        change["prefetch_bytes"] = settings.prefetch_bytes // AHEAD_BY
    threads = settings.num_input_workers or found.cores
    if threads > 1:
        change["num_input_workers"] = threads // 2
    return change
