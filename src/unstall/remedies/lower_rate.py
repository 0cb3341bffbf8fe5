"""Goes back to weights that were good, and on from there at a lower learning rate.

What it changes
---------------
`rate` becomes 0.3 of what it was; warm-up and schedule keep their form. After a divergence the run goes on from the newest
checkpoint from before the loss began to rise, and later ones are set aside (`checkpoints-set-aside/`); after losses that are not
finite from the newest one, since such updates are never applied.

What it costs
-------------
The steps since that checkpoint, and some speed of learning.

How we see that it helped
-------------------------
The training gets past the step in which it gave up, with a finite loss; after a divergence, with one below that.

How to undo it
--------------
Set `rate` back to what `settings-given.json` says, and move the folders of `checkpoints-set-aside/` back into `checkpoints/`.
"""

from __future__ import annotations

from unstall.diagnosis.verdict import Safety
from unstall.journal.events import LossDiverged
from unstall.plans import Fault, Kind, Plan, Sign, Verb, plan_for

TREATS = {Kind.DIVERGED: 1, Kind.NOT_FINITE: 2}
SAFETY = Safety.AUTO
UNDONE_IF_IN_VAIN = False
TIMES = 0.3  # the rate that there was
MOST_TIMES = 3  # that one run's rate is lowered
MOST_TIMES_AT_ONE_PLACE = 2  # tried again without having got any further


def plan(found: Fault) -> Plan | None:
    mine = [plan for plan in found.plans if plan.remedy == __name__.rpartition(".")[2]]
    if len(mine) >= MOST_TIMES or found.times_at_this_place("lower_rate") >= MOST_TIMES_AT_ONE_PLACE:
        return None
    rate = float(f"{found.settings.rate * TIMES:.6g}")
    if found.kind != Kind.DIVERGED:
        why = f"The rate becomes {rate:g}: losses that are not finite, one after the other, come from steps that are too large."
        return plan_for(found, __name__, Verb.CHANGE, {"rate": rate}, why, Sign(past_step=found.step))
    diverged = found.journal.last(LossDiverged)
    good = good_checkpoint(found.checkpoints, diverged.since_step if diverged else found.step)
    why = f"The rate becomes {rate:g}, from the checkpoint at step {good:,} on, before the loss rose."
    sign = Sign(past_step=found.step, loss_below=diverged.loss if diverged else None)
    return plan_for(found, __name__, Verb.RESUME, {"rate": rate}, why, sign, from_step=good)


def good_checkpoint(steps: tuple[int, ...], since: int) -> int:
    """The newest from before the loss rose; else the oldest there is; 0: none, from the beginning."""
    good = [step for step in steps if step <= since]
    return good[-1] if good else steps[0] if steps else 0
