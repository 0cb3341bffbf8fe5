"""Whether the host's memory holds what the run keeps there.

What is looked at
-----------------
The memory that is free on the machine, and what the control group still allows, against: the framework itself, batches made
ahead (`ahead_bytes`), decoded images that are kept (`cache_bytes`, unless `cache_folder` is set), the largest image once for
each worker and, where there is no accelerator, weights, gradients, what the optimizer keeps, and a copy for the checkpoint.

Why it matters
--------------
A process that goes beyond what its control group allows is killed without a word, often hours later, when the cache is full.

When this is wrong
------------------
Activations of a training on the CPU are not in the sum: the check `memory_plan` has them. What other programs will take later
is not known.

What to do
----------
Smaller `cache_bytes` or a `cache_folder`; smaller `ahead_bytes`; fewer `workers`; a container with more memory.
"""

from __future__ import annotations

import os

import psutil

from unstall.preflight.answers import Answer, Fits, Refuses, Warns
from unstall.preflight.context import Context
from unstall.report.text import size
from unstall.signals import cgroup

NEEDS = ("data_set",)
IS_QUICK = True
FRAMEWORK_BYTES = 900 * 2**20  # a process that has imported Keras with a backend and compiled a step; 500 to 900 MiB were seen
NEAR_SHARE = 0.8  # of what is free; beyond this another program, or activations, may take what is missing


def look(context: Context) -> Answer:
    used, limit, _ = cgroup.read(cgroup.find(os.getpid()))
    free = int(psutil.virtual_memory().available)
    if limit is not None:
        free = min(free, max(0, limit - (used or 0)))
    return judged(needed(context), free, limit)


def needed(context: Context) -> dict[str, int]:
    """Bytes by what they are for."""
    settings = context.settings
    all_images = context.images * max(context.largest_image_bytes, 1)
    parts = {
        "the framework": FRAMEWORK_BYTES,
        "batches made ahead": settings.ahead_bytes,
        "cached images": min(settings.cache_bytes, all_images) if settings.cache_folder is None else 0,
        "images being decoded": context.workers * context.largest_image_bytes,
        "weights, gradients and optimizer": 2 * context.checkpoint_bytes + context.weights_bytes,
    }
    return {name: count for name, count in parts.items() if count}


def judged(parts: dict[str, int], free: int, limit: int | None) -> Answer:
    total = sum(parts.values())
    facts = {"needed_bytes": total, "free_bytes": free, "limit_bytes": limit, "parts": parts}
    most = sorted(parts, key=lambda name: -parts[name])[:2]
    said = f"{size(total)} of {size(free)} that are free" + (f" (limit {size(limit)})" if limit is not None else "")
    largest = ", ".join(f"{name} {size(parts[name])}" for name in most)
    cure = "smaller --cache-bytes or --ahead-bytes, fewer --workers, or --cache-folder"
    if total > free:
        return Refuses(f"needs {said}: {largest}", cure, facts)
    if total > NEAR_SHARE * free:
        return Warns(f"needs {said}: {largest}", cure, facts)
    return Fits(f"needs {said}, without activations", facts)
