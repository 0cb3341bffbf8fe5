"""Goes back to weights that were good, and on from there at a lower learning rate.

What it changes
---------------
`learning_rate` becomes 0.3 of what it was; warm-up and schedule keep their form. The run goes on from the newest checkpoint from
before the loss began to rise, and later ones are set aside (`checkpoints-set-aside/`). Where all are from after that, it takes
the oldest after a divergence, and begins again after losses that are not finite. If the fault comes back at the same place, it
goes back to the oldest checkpoint, and then to the beginning: weights can be spoiled long before they overflow.

What it costs
-------------
The steps since that checkpoint, and some speed of learning.

How we see that it helped
-------------------------
The training gets past the step in which it gave up, with a loss that is finite and below that which was too high.

How to undo it
--------------
Set `learning_rate` back to what `settings-given.json` says, and move the folders of `checkpoints-set-aside/` back into
`checkpoints/`.
"""

from __future__ import annotations

from statistics import median

from unstall.diagnosis.verdict import Safety
from unstall.journal.events import LossDiverged, StepsEnded, TrainingBegan
from unstall.remedies.plan import Fault, Kind, Plan, Sign, Verb, plan_for

TREATS = {Kind.DIVERGED: 1, Kind.NOT_FINITE: 2}
SAFETY = Safety.AUTO
UNDO_IF_INEFFECTIVE = False
TIMES = 0.3  # the rate that there was
MAX_TIMES = 3  # that one run's rate is lowered
MAX_TIMES_DIVERGED = 2  # at one place, without having got any further
RISEN_TIMES = 3.0  # the usual loss: from there on weights are not trusted


def plan(found: Fault) -> Plan | None:
    mine = [plan for plan in found.plans if plan.remedy == __name__.rpartition(".")[2]]
    times = found.count_attempts_at_place("lower_learning_rate")
    if len(mine) >= MAX_TIMES or (found.kind == Kind.DIVERGED and times >= MAX_TIMES_DIVERGED):
        return None
    rate = float(f"{found.settings.learning_rate * TIMES:.6g}")
    since, loss_below = _diverged(found) if found.kind == Kind.DIVERGED else find_rise(found)
    further_back = [find_newest_before(found.checkpoints, since), *found.checkpoints[:1], 0]
    if found.kind == Kind.DIVERGED and not further_back[0]:
        del further_back[0]  # nothing is saved while the loss is suspiciously high: the oldest is worth a try
    good = further_back[min(times, len(further_back) - 1)]
    where = f"from the checkpoint at step {good:,} on" if good else "from the beginning"
    before = (
        "before the loss rose" if found.kind == Kind.DIVERGED or has_risen(found) else f"before the fault in step {found.step:,}"
    )
    what = before if good <= since else "the oldest that there is"
    why = f"The rate becomes {rate:g}, {where}: {what}."
    return plan_for(found, __name__, Verb.RESUME, {"learning_rate": rate}, why, Sign(found.step, loss_below), from_step=good)


def _diverged(found: Fault) -> tuple[int, float | None]:
    rose = found.journal.last(LossDiverged)
    if rose is None:
        return found.step, None
    usual = [RISEN_TIMES * abs(rose.usual_loss)] if rose.usual_loss is not None else []
    return rose.since_step, min([*usual, *([rose.loss] if rose.loss is not None else [])], default=None)


def find_rise(found: Fault) -> tuple[int, float | None]:
    """The step from which on all losses that were told are far above the usual ones, else that of the fault; and that limit."""
    began = found.journal.last(TrainingBegan)
    groups = [group for group in found.journal.of(StepsEnded) if group.phase == "train" and group.loss_is_finite is not None]
    usual: list[float] = []
    since: StepsEnded | None = None
    for group in groups:
        if group.loss is not None and (not usual or group.loss <= RISEN_TIMES * median(usual)):
            usual.append(group.loss)  # what is high is not learned to be usual
            since = None
        else:
            since = since or group
    if began is None or not usual:
        return found.step, None
    return began.from_step + since.first if since is not None else found.step, RISEN_TIMES * median(usual)


def has_risen(found: Fault) -> bool:
    """Whether the last loss that could be told is far above the usual ones: then it is the weights that are bad."""
    events = [group.loss for group in found.journal.of(StepsEnded) if group.phase == "train" and group.loss is not None]
    _, limit = find_rise(found)
    return bool(events) and limit is not None and events[-1] > limit


def find_newest_before(steps: tuple[int, ...], since: int) -> int:
    """The newest checkpoint from before the loss rose. 0: they are all from after that, and the run begins again."""
    return max((step for step in steps if step <= since), default=0)
