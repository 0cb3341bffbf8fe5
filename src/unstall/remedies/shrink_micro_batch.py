"""Computes fewer images at once, and sums their gradients up to the same batch.

What it changes
---------------
`micro_batch_size` becomes the next smaller divisor of a worker's share of `batch_size` that is at most half of what was computed
at once. `batch_size`, and with it the learning rate and the update, stay as they are. The run goes on from its newest
checkpoint. The size that fits is remembered for this model on this machine: the next run begins with it.

What it costs
-------------
Time, where the device was not busy enough with fewer images; often next to nothing. The update is the same but for rounding;
layers that take statistics of a batch (BatchNorm, where it is trained) see fewer images at once.

How we see that it helped
-------------------------
The training gets past the step in which memory ran out.

How to undo it
--------------
Set `micro_batch_size` back to what `settings-given.json` says, or leave it out; delete the line of the model in
`fitting-sizes.json` beside the runs, where sizes are remembered.
"""

from __future__ import annotations

from unstall.diagnosis.verdict import Safety
from unstall.remedies.plan import Fault, Kind, Plan, Sign, Verb, plan_for

TREATS = {Kind.DEVICE_MEMORY: 1, Kind.HOST_MEMORY: 2}
SAFETY = Safety.AUTO
UNDO_IF_INEFFECTIVE = False
SHRINKS_BY = 2  # at least, each time


def plan(found: Fault) -> Plan | None:
    if found.kind == Kind.HOST_MEMORY and not found.computes_in_host_memory:
        return None
    now = found.settings.at_once
    smaller = find_divisor(found.settings.batch_share, now // SHRINKS_BY)
    if smaller is None:
        return None
    parts = found.settings.batch_size // smaller
    return plan_for(
        found,
        __name__,
        Verb.CHANGE,
        {"micro_batch_size": smaller},
        f"{now} images at once did not fit; {smaller} need about {smaller / now:.0%} of the memory of their outputs. Gradients of"
        f" {parts} parts are summed up: the update stays that of {found.settings.batch_size} images.",
        Sign(past_step=found.step),
    )


def find_divisor(batch_size: int, most: int) -> int | None:
    """The largest divisor of the batch size that is not above; None below 1."""
    return next((number for number in range(min(most, batch_size), 0, -1) if batch_size % number == 0), None)
