"""Waits a while, and goes on from the newest verified checkpoint: another program may have had the memory.

What it changes
---------------
No setting. It treats want of host memory, on a CPU also where the backend calls it that of its device. It has its turn when
nothing of the run can be made smaller any more. The next worker begins only after a wait, each time at the same place a longer
one; Ctrl-C and SIGTERM end the wait.

What it costs
-------------
The wait, the steps since that checkpoint, and a start of the worker.

How we see that it helped
-------------------------
The training gets past the step in which memory ran out. If it does not after the longest wait, the run stops and says so: the
memory that it may use is too small for it.

How to undo it
--------------
There is nothing to undo.
"""

from __future__ import annotations

from dataclasses import replace

from unstall.diagnosis.verdict import Safety
from unstall.journal.events import TrainingBegan
from unstall.remedies.plan import Fault, Kind, Plan, Sign, Verb, plan_for

TREATS = {Kind.HOST_MEMORY: 3, Kind.DEVICE_MEMORY: 3}
SAFETY = Safety.AUTO
UNDO_IF_INEFFECTIVE = False
WAITS_S = (20.0, 60.0, 180.0)  # one after the other, where it does not get any further


def plan(found: Fault) -> Plan | None:
    if found.kind == Kind.DEVICE_MEMORY and not (found.journal.last(TrainingBegan) and found.computes_in_host_memory):
        return None  # of a card, or of nobody knows what: it is not waited for
    waited = found.count_attempts_at_place(__name__.rpartition(".")[2])
    if waited >= len(WAITS_S):
        return None
    wait_s = WAITS_S[waited]
    verb = Verb.RESUME if found.checkpoints or found.is_secondary_host else Verb.RESTART
    why = f"Nothing of the run can be made smaller. Others may have the memory: it goes on after {wait_s:.0f} s."
    planned = plan_for(found, __name__, verb, {}, why, Sign(past_step=found.step))
    return None if planned is None else replace(planned, wait_s=wait_s)
