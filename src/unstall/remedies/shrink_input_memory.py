"""Keeps and makes fewer images ahead: smaller caches, shorter queues, fewer threads.

What it changes
---------------
Decoded images are not kept in memory any more (`cache_bytes`, where there is no `cache_folder`), a quarter as many bytes of
batches are made ahead (`ahead_bytes`), and half as many threads decode (`input_threads`). The numbers of the training stay the
same, and it goes on from its newest checkpoint.

What it costs
-------------
Steps may have to wait for input, and images are decoded in every epoch.

How we see that it helped
-------------------------
The training gets past the step in which memory ran out, or in which it was nearly full.

How to undo it
--------------
Set `cache_bytes`, `ahead_bytes` and `input_threads` back to what `settings-given.json` says.
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
    change = smaller(found)
    if not change:
        return None
    parts = {
        "cache_bytes": "decoded images are not kept in memory any more",
        "ahead_bytes": f"{change.get('ahead_bytes', 0) / MIB:.0f} MiB of batches are made ahead",
        "input_threads": f"threads that decode: {change.get('input_threads')}",
    }
    why = "To use less host memory: " + ", ".join(parts[name] for name in change) + "."
    return plan_for(found, __name__, Verb.CHANGE, change, why, Sign(past_step=found.step))


def smaller(found: Fault) -> dict[str, Any]:
    """What can be made smaller, each at once: a run that was killed should not have to be killed three times."""
    settings = found.settings
    change: dict[str, Any] = {}
    if settings.cache_bytes and settings.cache_folder is None:
        change["cache_bytes"] = 0
    if settings.ahead_bytes // AHEAD_BY >= MIN_AHEAD_BYTES:
        change["ahead_bytes"] = settings.ahead_bytes // AHEAD_BY
    threads = settings.input_threads or found.cores
    if threads > 1:
        change["input_threads"] = threads // 2
    return change
