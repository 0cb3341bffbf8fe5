"""Whether the training step and the evaluation fit into the memory that computes them.

What is looked at
-----------------
What `unstall plan` says: the need of the step as the compiler, a measurement or an estimate gives it, against what the device has
for this backend, less what such figures have been wrong by. An estimate will do here where it shows room enough.

Why it matters
--------------
A step that does not fit ends the run at its first step, or at the one batch that is larger than the others.

When this is wrong
------------------
Other processes may take memory of the device later. A run whose plan was wrong is repaired, and goes on with a smaller
micro-batch.

What to do
----------
`unstall train` makes the changes that are named, and says so: bfloat16, rematerialised blocks, a smaller micro-batch with
accumulation, in this order. `unstall plan` shows what each costs. Where nothing helps: a smaller `image_size` or another model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.formatting import format_size
from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, CheckUnknown, CheckWarning, Context

if TYPE_CHECKING:
    from unstall.planning.memory import MemoryPlan

NEEDS = ("data_set", "packages")
IS_QUICK = True


def look(context: Context) -> CheckResult:
    from unstall.planning import memory
    from unstall.planning.memory.client import PlannerError, announce_questions

    pixels = context.largest_image_bytes // 3 or None
    try:
        plan = memory.plan(
            context.settings, None, context.classes,
            largest_pixels=pixels, finds_largest=False, is_quick=True, before=announce_questions(context.progress),
        )  # fmt: skip
    except PlannerError as failed:
        return CheckUnknown(str(failed), "unstall plan")
    context.planned = plan
    return judge(plan)


def judge(plan: MemoryPlan) -> CheckResult:
    facts: dict[str, Any] = plan.as_plain()
    said = f"{format_size(plan.tried[0].need_bytes)} of {format_size(plan.limit_bytes)} on {plan.device.description}, {plan.way}"
    if not plan.fits:
        least = format_size(plan.tried[-1].need_bytes)
        return CheckError(
            f"a step needs {said}, and {least} whatever is changed", "a smaller image_size, or another --model", facts
        )
    if plan.changes():
        shown = ", ".join(f"{name} = {value}" for name, value in plan.changes().items())
        reason = f"a step as wanted needs {said}; {format_size(plan.tried[-1].need_bytes)} with {shown}"
        return CheckWarning(reason, "train makes these changes; `unstall plan` says what they cost", facts)
    return CheckOk(f"a step needs {said}", facts)
