"""Lets layers compute in bfloat16, which takes half the memory of float32.

What it changes
---------------
`precision` becomes bfloat16. Weights, their updates and losses stay in float32. It is not done without being asked for, since
it changes the numbers: the run stops and says the command.

What it costs
-------------
Outputs of layers keep 8 significant bits. Scores are mostly the same within their noise; on hardware without bfloat16 it is
slower.

How we see that it helped
-------------------------
The training gets past the step in which memory ran out, and the score of the next epoch is no worse than that before.

How to undo it
--------------
Set `precision` to float32.
"""

from __future__ import annotations

from unstall.diagnosis.verdict import Safety
from unstall.remedies.plan import Fault, Kind, Plan, Sign, Verb, plan_for

TREATS = {Kind.DEVICE_MEMORY: 4}
SAFETY = Safety.ASK
UNDO_IF_INEFFECTIVE = False


def plan(found: Fault) -> Plan | None:
    if found.settings.precision != "float32":
        return None
    why = "What is left is to compute in bfloat16, in half the memory. It changes the numbers, so it is for you to say."
    return plan_for(found, __name__, Verb.ASK, {"precision": "bfloat16"}, why, Sign(past_step=found.step))
