"""Ends what is left of the worker and goes on from the newest verified checkpoint.

What it changes
---------------
No setting. A worker that stands still is asked to end, and ended if it does not; its stacks are in the journal. A new one takes
the newest checkpoint that is whole, with the order of the data and every random number as they would have been.

What it costs
-------------
The steps since that checkpoint, at most one interval of checkpoints, and a start of the worker. A newest checkpoint that a disk
has damaged since it was verified is passed over: then it is the steps since the one before, one interval more. The journal has
which was refused, why, and from where the run went on instead.

How we see that it helped
-------------------------
The training gets past the step in which it stood still or died. If it does not, twice in a row, the run stops and says so: a
fault that comes back at the same place is no accident.

How to undo it
--------------
There is nothing to undo.
"""

from __future__ import annotations

from unstall.diagnosis.verdict import Safety
from unstall.journal.events import ErrorRaised
from unstall.remedies.plan import Fault, Kind, Plan, Sign, Verb, plan_for

TREATS = {Kind.STUCK: 1, Kind.DIED: 1}
SAFETY = Safety.AUTO
UNDO_IF_INEFFECTIVE = False
MAX_TIMES_AT_ONE_PLACE = 2  # the third time at the same place it is no accident
MAX_TIMES_AFTER_AN_ERROR = 1  # an error that Python raised comes back more surely than a kill


def plan(found: Fault) -> Plan | None:
    raised = found.kind == Kind.DIED and any(error.fatal for error in found.journal.of(ErrorRaised))
    most = MAX_TIMES_AFTER_AN_ERROR if raised else MAX_TIMES_AT_ONE_PLACE
    if found.count_attempts_at_place() >= most:
        return None
    step = found.newest_checkpoint
    where = f"from the checkpoint at step {step:,}" if found.checkpoints else "from the beginning: there is no checkpoint yet"
    if found.is_secondary_host:
        where = "from the newest checkpoint of worker 0, which is on another machine"
    verb = Verb.RESUME if found.checkpoints or found.is_secondary_host else Verb.RESTART
    return plan_for(found, __name__, verb, {}, f"The run goes on {where}.", Sign(past_step=found.step))
