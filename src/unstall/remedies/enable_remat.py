"""Enables rematerialization: outputs of blocks are computed again when gradients need them, and not kept.

What it changes
---------------
`remat` becomes true. The numbers stay the same. The run goes on from its newest checkpoint.

What it costs
-------------
About a third more time for a step: the forward pass is made twice.

How we see that it helped
-------------------------
The training gets past the step in which memory ran out.

How to undo it
--------------
Set `remat` to false.
"""

from __future__ import annotations

from unstall.diagnosis.verdict import Safety
from unstall.remedies.plan import Fault, Kind, Plan, Sign, Verb, plan_for

TREATS = {Kind.DEVICE_MEMORY: 2}
SAFETY = Safety.AUTO
UNDO_IF_INEFFECTIVE = False


def plan(found: Fault) -> Plan | None:
    if found.settings.remat:
        return None
    why = "One image at once does not fit as it is. Outputs of blocks are now computed again when gradients need them."
    return plan_for(found, __name__, Verb.CHANGE, {"remat": True}, why, Sign(past_step=found.step))
