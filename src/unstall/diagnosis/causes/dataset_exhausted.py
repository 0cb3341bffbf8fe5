"""The input ended before the training had all the steps it was told to make.

What it is
----------
`steps_per_epoch` times `epochs` is more than the data set or generator gives. Keras shows a warning that scrolls away,
and ends the training early or runs empty epochs: the model is trained less than it seems. A loop of one's own that takes
its batches by `next(iterator)`, for a number of steps, ends with an error.

How we know
-----------
Keras itself said that the input ran out of data, outside of a validation, and fewer steps were made than asked for. Or the
error that ended the program is that of an iterator of the framework: end of sequence, StopIteration.

When this is wrong
------------------
If the short last epoch is meant. A data set whose length nobody gave, and that simply ends, is no fault, and is not
told.

What to do
----------
Let the data set repeat (`.repeat()`, a generator in `while True:`), or leave `steps_per_epoch` out, or make it what the
data really has. In one's own loop: `for batch in dataset:`, which ends when the data do.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.fatal_error import find_fatal_error, find_user_line
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import ErrorRaised, FitBegan, InputDescribed, PhaseBegan, PhaseEnded, StepsEnded, WarningShown
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_place, is_user_file

SHORT_OF = 0.995  # a run that made at least this share of its steps lost nothing

_SAID = "ran out of data"
_END = "End of sequence"
_IN_GENERATOR = "generator raised StopIteration"
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def examine(journal: Journal) -> Verdict:
    error = find_fatal_error(journal)
    if error is not None and _is_end_of_input(error):
        return _of_error(journal, error)
    fits = [fit for fit in journal.of(FitBegan) if fit.api in {"keras", "tf_keras"}]
    if not fits:
        return Unknown("a Keras fit: one's own loop ends when it likes")
    said = [warning for warning in journal.of(WarningShown) if _SAID in warning.message]
    warned = next((warning for warning in said if not _in_validation(journal, warning.at)), None)
    if warned is None:
        return Clear("it was the validation's input that ran out" if said else "the input never ran out")
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


def _in_validation(journal: Journal, at: float) -> bool:
    began = [event.at for event in journal.of(PhaseBegan) if event.phase == "validate" and event.at <= at]
    return bool(began) and not any(event.phase == "validate" and began[-1] <= event.at < at for event in journal.of(PhaseEnded))


def _is_end_of_input(error: ErrorRaised) -> bool:
    """Python's own words are said of every iterator: they must come out of a framework, not out of the program's own line, where
    something may have been looked for in a list and not found."""
    kind = error.kind.rpartition(".")[2]
    if kind == "OutOfRangeError":
        return _END in error.message
    is_end = kind == "StopIteration" or (kind == "RuntimeError" and _IN_GENERATOR in error.message)
    return is_end and bool(error.frames) and not is_user_file(error.frames[0]["file"])


def _of_error(journal: Journal, error: ErrorRaised) -> Verdict:
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]  # the last ones are told when it ends
    if not groups:
        return Clear("no step was made: there was nothing to end")
    made, folder = max(error.step, groups[-1].last + 1), find_program_folder(journal)
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The input ended after {made:,} steps, and the program asked it for one more batch, which ended the program.",
        evidence=(
            Evidence(f"{error.kind.rpartition('.')[2]} ended the program", None, None, (error,)),
            Evidence(f"{made:,} steps were made up to then", made, None, tuple(groups[-1:])),
        ),
        actions=(
            "let the data set repeat: dataset.repeat(), or `while True:` around the generator's loop",
            "or make the number of steps what the data have: examples divided by the batch size; or loop with"
            " `for batch in dataset:`",
        ),
        where=_requesting_line(error, folder) or find_user_line(error, folder),
        effect=Effect.STOPS,
    )


def _requesting_line(error: ErrorRaised, folder: str) -> str | None:
    """Inside a tf.function: TensorFlow's text tells where the operation was written, the innermost line last."""
    lines = [(file, int(line)) for file, line in _FRAME.findall(error.message) if is_user_file(file)]
    return format_place(*lines[-1], folder) if lines else None


def _found(journal: Journal, fit: FitBegan, warned: WarningShown, groups: list[StepsEnded], made: int, asked: int) -> Found:
    source = next((each for each in reversed(journal.of(InputDescribed)) if each.role == "train" and each.at <= warned.at), None)
    kind = {"generator": "Your generator", "tf.data": "Your data set", "PyDataset": "Your PyDataset"}.get(
        source.kind if source else "", "Your input"
    )
    file, _, line = (fit.where or "").rpartition(":")
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"{kind} ran out of data: {made:,} steps have been made, and {asked:,} were asked for "
        f"({fit.steps_per_epoch:,} in each of {fit.epochs} epochs), {100 * made / asked:.0f} %.",
        evidence=(
            Evidence(f"Keras said: {warned.message.split(';')[0].strip()}", None, None, (warned,)),
            Evidence(f"{made:,} steps were made, {asked:,} asked for", made, asked, tuple(groups[-1:]) or (fit,)),
        ),
        actions=(
            "let it repeat: dataset.repeat(), or `while True:` around the generator's loop",
            "or leave steps_per_epoch out, so that an epoch is one pass over the data",
        ),
        where=format_place(file, int(line), find_program_folder(journal)) if file else None,
        effect=Effect.SPOILS,
    )
