"""The input ended before the training had all the steps it was told to make.

What it is
----------
`steps_per_epoch` times `epochs` is more than the data set or generator gives. Keras shows a warning that scrolls away,
and ends the training early or runs empty epochs: the model is trained less than it seems.

How we know
-----------
Keras itself said that the input ran out of data, and fewer steps were made than asked for.

When this is wrong
------------------
If the short last epoch is meant. A data set whose length nobody gave, and that simply ends, is no fault, and is not
told.

What to do
----------
Let the data set repeat (`.repeat()`, a generator in `while True:`), or leave `steps_per_epoch` out, or make it what the
data really has.
"""

from __future__ import annotations

from unstall.diagnosis.stacks import place, program_folder
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import FitBegan, InputDescribed, StepsEnded, WarningShown
from unstall.journal.reader import Journal

SHORT_OF = 0.995  # a run that made at least this share of its steps lost nothing

_SAID = "ran out of data"


def examine(journal: Journal) -> Verdict:
    fits = [fit for fit in journal.of(FitBegan) if fit.api in {"keras", "tf_keras"}]
    if not fits:
        return Unknown("a Keras fit: one's own loop ends when it likes")
    warned = next((warning for warning in journal.of(WarningShown) if _SAID in warning.message), None)
    if warned is None:
        return Clear("the input never ran out")
    fit = next((fit for fit in reversed(fits) if fit.at <= warned.at), fits[0])
    if not fit.steps_per_epoch or not fit.epochs:
        return Clear("nobody said how many steps there should be")
    asked = fit.steps_per_epoch * fit.epochs
    following = next((other.at for other in fits if other.at > fit.at), float("inf"))
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train" and fit.at <= group.at < following]
    made = groups[-1].last + 1 if groups else 0
    if made >= SHORT_OF * asked:
        return Clear("all steps were made: it was the validation that ran out, or the very last step")
    return _found(journal, fit, warned, groups, made, asked)


def _found(journal: Journal, fit: FitBegan, warned: WarningShown, groups: list[StepsEnded], made: int, asked: int) -> Found:
    source = next((each for each in reversed(journal.of(InputDescribed)) if each.role == "train" and each.at <= warned.at), None)
    kind = {"generator": "Your generator", "tf.data": "Your data set", "PyDataset": "Your PyDataset"}.get(
        source.kind if source else "", "Your input"
    )
    epoch = made // (fit.steps_per_epoch or 1) + 1
    file, _, line = (fit.where or "").rpartition(":")
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"{kind} ended after {made:,} of the {asked:,} steps that were asked for ({fit.steps_per_epoch:,} in each of "
        f"{fit.epochs} epochs), first in epoch {epoch}: so far {100 * made / asked:.0f} % of the training that was asked for.",
        evidence=(
            Evidence(f"Keras said: {warned.message.split(';')[0].strip()}", None, None, (warned,)),
            Evidence(f"{made:,} steps were made, {asked:,} asked for", made, asked, tuple(groups[-1:]) or (fit,)),
        ),
        do=(
            "let it repeat: dataset.repeat(), or `while True:` around the generator's loop",
            "or leave steps_per_epoch out, so that an epoch is one pass over the data",
        ),
        where=place(file, int(line), program_folder(journal)) if file else None,
        effect=Effect.SPOILS,
    )
