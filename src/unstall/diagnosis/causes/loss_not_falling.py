"""After long training the loss still stands where mere guessing would put it, and nothing else explains why.

What it is
----------
The weights change, the loss does not fall: it stands at what one gets by guessing each label as often as it occurs. Then
the labels say nothing about the inputs, as the model is given them: they were shuffled apart, read in another order, or
paired with the wrong inputs. Or the inputs hold nothing of what is asked.

How we know
-----------
The level of guessing is known from the labels (or the number of classes) for cross-entropies, and from the variance of the
targets for squared errors. The loss has been at that level for most of a long training, without a trend. This is the last
resort: it is said only where no other cause was found, and never for certain. Where no hook sees the loss, a loss that is
printed at the logarithm of a usual number of classes from the first line to the last counts as the level of guessing.

When this is wrong
------------------
If the task is merely hard to begin with: some losses stand still for long and then fall.

What to do
----------
Look at a few examples with their labels, as they come out of the pipeline. Shuffle inputs and labels together. Then see whether
the model can learn one batch by heart.
"""

from __future__ import annotations

from math import log
from statistics import mean

from unstall.diagnosis.learning_curve import compute_guessing_level
from unstall.diagnosis.printed_output import find_guessing, is_loss_hooked
from unstall.diagnosis.probe_facts import count_steps_done, find_current_fit, find_missing_probe, read_facts, train_groups
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import LoopSeen, LossPrinted, StepsEnded
from unstall.journal.reader import Journal

MIN_STEPS = 2000
MIN_EPOCHS = 4
MIN_SECONDS = 18.0
MIN_READINGS = 12  # groups of steps with a loss
BEST = 0.994  # a loss that has come below this share of the guessing level is better than guessing
WORST = 1.06  # a loss above this share is worse than guessing: something else is wrong
MIN_TREND = 0.004  # a fall by this share of the level from the first half to the second is a fall

_LOOK = (
    "look at a few inputs with their labels as they come out of the pipeline: do they belong together?",
    "shuffle inputs and labels together, by one permutation",
)


def examine(journal: Journal) -> Verdict:
    printed = None if is_loss_hooked(journal) else find_guessing(journal)
    if printed is not None:
        return _printed(*printed)
    unseen = find_missing_probe(journal)
    if unseen is not None:
        return unseen
    fit, groups = find_current_fit(journal), train_groups(journal)
    if fit is None or not groups:
        return Clear("no training was seen")
    level_event = compute_guessing_level(journal, fit)
    if level_event is None:
        return Unknown("the loss that guessing would give", "")
    if read_facts(journal, "turns"):
        return Clear("several losses take turns: they need not fall")
    readings = [group for group in groups if group.loss is not None and group.first > 0]
    seconds = groups[-1].at - fit.at
    if (
        count_steps_done(groups) < MIN_STEPS
        or seconds < MIN_SECONDS
        or len(readings) < MIN_READINGS
        or groups[-1].epoch + 1 < MIN_EPOCHS
    ):
        return Clear("too early to tell")
    changed = [sample for sample in read_facts(journal, "weights", fit.at) if sample.facts["changed"]]
    if not changed:
        return Clear("the weights do not change: another matter")
    level = level_event.facts["level"]
    late = readings[len(readings) // 3 :]
    losses = [group.loss for group in late if group.loss is not None]
    latest = mean(losses[-max(1, len(losses) // 4) :])
    if not BEST * level <= latest <= WORST * level or _falls(losses, level):
        return Clear("the loss falls, or is better than guessing")
    return _found(level_event, late, mean(losses), count_steps_done(groups), changed[-1])


def _falls(losses: list[float], level: float) -> bool:
    """Whether the second half lies below the first by more than a trifle: what is learned by heart is no more than that."""
    middle = len(losses) // 2
    return mean(losses[:middle]) - mean(losses[middle:]) > MIN_TREND * level


def _printed(classes: int, events: tuple[LossPrinted, ...]) -> Found:
    loss, guess = events[-1].mean, log(classes)
    stands = f"it stands at {loss:.4g} from beginning to end, as guessing among {classes} classes would"
    return Found(
        certainty=Certainty.LIKELY,
        summary=f"The loss does not fall, as the program prints it: {stands}.",
        evidence=(
            Evidence(f"the loss is {loss:.4g}; guessing among {classes} classes gives {guess:.4g}", loss, guess, events[-1:]),
            Evidence(f"it printed first: {events[0].line}", None, None, events[:1]),
            Evidence(f"it printed last: {events[-1].line}", None, None, events[-1:]),
        ),
        actions=(*_LOOK, "see that the weights change at all: the learning rate is not 0, and the optimizer is given them"),
        effect=Effect.SPOILS,
    )


def _found(level: LoopSeen, late: list[StepsEnded], loss: float, steps: int, changed: LoopSeen) -> Found:
    guess = level.facts["level"]
    source = f"from {level.facts['labels']:,} labels" if level.facts["labels"] else f"{level.facts['classes']} classes"
    stands = f"it stands at {loss:.4g}, and guessing gives {guess:.4g}"
    return Found(
        certainty=Certainty.LIKELY,
        summary=f"The loss does not fall: {stands}. The labels seem to say nothing about the inputs.",
        evidence=(
            Evidence(f"the loss is {loss:.4g}; guessing gives {guess:.4g} ({source})", loss, guess, (level, late[-1])),
            Evidence(f"no trend over {late[-1].last - late[0].first + 1:,} of {steps:,} steps", steps, MIN_STEPS, tuple(late)),
            Evidence("the weights do change", None, None, (changed,)),
        ),
        actions=(
            *_LOOK,
            "see whether the model can learn one batch by heart: dataset.take(1).repeat()",
        ),
        effect=Effect.SPOILS,
    )
