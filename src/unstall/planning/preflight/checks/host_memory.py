"""Whether the host's memory holds what the run keeps there.

What is looked at
-----------------
The memory that is free on the machine, or that the control group still allows, against: the framework itself, batches made ahead
(`prefetch_bytes`), decoded images that are kept (`cache_bytes`, unless `cache_dir` is set), the largest image twice for each
worker, a copy for the checkpoint and, where there is no accelerator, the training step.

Why it matters
--------------
A process that goes beyond what its control group allows is killed without a word, often hours later, when the cache is full.

When this is wrong
------------------
What other programs will take later is not known. Where the check `memory_plan` could not say what a step needs, it is not in the
sum.

What to do
----------
Smaller `cache_bytes` or a `cache_dir`; smaller `prefetch_bytes`; fewer `num_input_workers`; a container with more memory.
"""

from __future__ import annotations

import os

from unstall.base.formatting import format_size
from unstall.config.settings import apply_changes
from unstall.planning.memory.devices import KEPT_SHARE, HostNeed, estimate_host_need
from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, CheckWarning, Context
from unstall.training.distributed import engines

NEEDS = ("data_set", "packages")
AFTER = ("memory_plan",)
IS_QUICK = True
NAMES = {
    "framework": "the framework",
    "ahead": "batches made ahead",
    "cache": "cached images",
    "scratch": "images being decoded",
    "snapshot": "the checkpoint being written",
    "device": "the training step",
}
FIXES = {  # of a part that can be made smaller
    "device": "a smaller --micro-batch-size",
    "cache": "smaller --cache-bytes or a --cache-dir",
    "ahead": "smaller --prefetch-bytes",
    "scratch": "fewer --num-input-workers",
}


def look(context: Context) -> CheckResult:
    return judge(estimate_need(context))


def estimate_need(context: Context) -> HostNeed:
    """A cache takes no more than there are images."""
    all_images = context.images * max(context.largest_image_bytes, 1)
    whole = apply_changes(context.settings, {"cache_bytes": min(context.settings.cache_bytes, all_images)})
    settings = whole.split_for_one_worker()
    height, width = context.image_size
    batch = settings.batch_size * height * width * 3
    on_cores = context.planned.host.device if context.planned is not None else 0
    need = estimate_host_need(
        settings, context.backend, batch, context.checkpoint_bytes, on_cores, context.largest_image_bytes // 3 or None
    )
    return need.of_all(1 if engines.count_declared_workers(os.environ) else whole.num_workers)


def judge(need: HostNeed) -> CheckResult:
    free = max(0, need.limit - need.used)
    parts = {name: getattr(need, name) for name in NAMES}
    most = sorted(parts, key=lambda name: -parts[name])[:2]
    said = f"{format_size(need.total)} of {format_size(free)} that are free, of {format_size(need.limit)}"
    reason = f"needs {said}: {', '.join(f'{NAMES[name]} {format_size(parts[name])}' for name in most)}"
    smaller = [FIXES[name] for name in sorted(parts, key=lambda name: -parts[name]) if name in FIXES and parts[name]]
    fix = ", or ".join(smaller) or "end other programs, or take a machine with more memory"
    if need.total > free:
        return CheckError(reason, fix, need.as_plain())
    if not need.fits:
        return CheckWarning(f"{reason}; less than {KEPT_SHARE:.0%} is left for others", fix, need.as_plain())
    return CheckOk(f"needs {said}", need.as_plain())
