"""Leaves out the examples whose batches gave a loss or gradient that is not finite.

What it changes
---------------
Their numbers are added to `exclude_examples`, which are never used. Which: those that stood in several of the batches whose
update was skipped; or, where such batches stood alone among good ones, all of theirs. None where the loss had risen far above
the usual before: then it is the weights that are bad, and any batch overflows. The batches lie in `bad-batches/` for a look.
The run goes on from its newest checkpoint, whose weights are good: an update that is not finite is never applied.

What it costs
-------------
The examples themselves, a few in a hundred at most, and that the order of the others changes from there on.

How we see that it helped
-------------------------
The training gets past the step in which it gave up.

How to undo it
--------------
Take the numbers out of `exclude_examples`, once the images or their boxes are mended; `unstall data check` names what is wrong.
"""

from __future__ import annotations

from collections import Counter

from unstall.diagnosis.verdict import Safety
from unstall.journal.events import TrainingBegan, UpdateSkipped
from unstall.remedies.lower_learning_rate import has_risen
from unstall.remedies.plan import Fault, Kind, Plan, Sign, Verb, plan_for

TREATS = {Kind.NOT_FINITE: 1}
SAFETY = Safety.AUTO
UNDO_IF_INEFFECTIVE = True
OFTEN = 2  # batches that an example must have stood in
ALONE = 2  # skipped in a row, at most: more of them are the weights' doing and not the examples'
MAX_SHARE = 0.05  # of the examples that may be left out in all


def plan(found: Fault) -> Plan | None:
    rows = set() if has_risen(found) else find_suspect_examples(found.journal.of(UpdateSkipped))
    began = found.journal.last(TrainingBegan)
    known = set(found.settings.exclude_examples)
    fresh = sorted(rows - known)
    if not fresh or began is None or len(known) + len(fresh) > MAX_SHARE * began.examples:
        return None
    named = ", ".join(map(str, fresh[:8])) + (", …" if len(fresh) > 8 else "")
    return plan_for(
        found,
        __name__,
        Verb.SKIP,
        {"exclude_examples": sorted(known | rows)},
        f"{_shown_by(found.journal.of(UpdateSkipped))}: {named} are left out.",
        Sign(past_step=found.step),
    )


def _shown_by(skipped: list[UpdateSkipped]) -> str:
    if _often(skipped):
        return "The same examples are in several of the batches that are not finite"
    return "The batches that are not finite stand alone among good ones, and all their examples are suspected"


def _often(skipped: list[UpdateSkipped]) -> set[int]:
    return {row for row, count in _counted(skipped).items() if count >= OFTEN}


def _counted(skipped: list[UpdateSkipped]) -> Counter[int]:
    return Counter(row for event in skipped for row in set(event.rows) if row >= 0)


def find_suspect_examples(skipped: list[UpdateSkipped]) -> set[int]:
    """Numbers of examples. One batch that is replayed after a restart counts each time: it is bad again."""
    often = _often(skipped)
    if often:
        return often
    stand_alone = bool(skipped) and max(event.in_a_row for event in skipped) <= ALONE
    return set(_counted(skipped)) if stand_alone else set()
