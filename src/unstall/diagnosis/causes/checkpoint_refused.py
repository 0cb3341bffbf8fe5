"""torch.load refused a checkpoint, since it holds Python objects besides weights.

What it is
----------
A file of torch.save is a pickle, and a pickle can run code when it is read. Since PyTorch 2.6, torch.load reads only tensors and
plain values unless it is told otherwise (`weights_only=True` is the default). A checkpoint that also holds an argparse.Namespace,
a NumPy number or an object of the program's own was read by older versions and is refused now. The file is whole.

How we know
-----------
The error that ended the program is the refusal, and names the class that is not allowed.

When this is wrong
------------------
If the file comes from somebody else and should hold weights alone: then the refusal is a warning about that file.

What to do
----------
Allow the class that is named, or save the weights alone. Set `weights_only=False` only for files that you trust.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.failures import Maker, find_failure
from unstall.diagnosis.errors.fatal_error import find_fatal_error, find_unseen_end, find_user_line, format_texts, get_first_line
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import ErrorRaised, FileMet
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder

MET_S = 5.0  # files are looked for when an error ends the program

_REFUSED = re.compile(r"Weights only load failed")
_CLASS = re.compile(r"(?:GLOBAL|global|class) (?P<name>[A-Za-z_][\w.]*\.[\w.]*\w)")


def examine(journal: Journal) -> Verdict:
    error = find_fatal_error(journal)
    if error is None:
        return find_unseen_end(journal) or Clear("no checkpoint was refused")
    text = next((text for text in format_texts(error) if _REFUSED.search(text)), None)
    named = _CLASS.search(text) if text is not None else None
    if text is None or named is None:
        return Clear("the error is about something else")
    return _found(journal, error, text, named["name"])


def _found(journal: Journal, error: ErrorRaised, text: str, name: str) -> Found:
    read = [file for file in journal.of(FileMet) if file.how == "read" and abs(file.at - error.at) < MET_S]
    file = read[-1].path if len({each.path for each in read}) == 1 else "a checkpoint"
    failure = find_failure(journal)
    entries = [maker for maker in failure.makers if maker.what == "entry"] if failure is not None else []
    is_number = name.endswith("multiarray.scalar")
    what = "a number of NumPy" if is_number else f"of the class {name.rpartition('.')[2]}"
    held = f" It is the entry `{entries[0].name}`, {what}." if entries else f" That is {what}." if is_number else ""
    saved = failure.maker("saved") if failure is not None else None
    if saved is not None:
        names = " and ".join(f"`{each}`" for each in saved.facts["names"])
        held += f" The dict that is saved at {saved.where} holds {names} besides the state of models."
    stored = [f"`{maker.name}` is put into the checkpoint at {maker.where}: {maker.code}" for maker in entries if maker.where]
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"torch.load refused {file}: it holds {name}, and since PyTorch 2.6 only tensors and plain values are read "
        f"unless weights_only=False is given.{held}",
        evidence=tuple(
            Evidence(claim, name, None, (error,)) for claim in (*stored, f"the error that ended it: {get_first_line(text)}")
        ),
        actions=_actions(name, entries[0] if entries else None),
        where=find_user_line(error, find_program_folder(journal)),
        effect=Effect.STOPS,
    )


def _actions(name: str, entry: Maker | None) -> tuple[str, ...]:
    trusted = "to read files that are there already, give weights_only=False, if you trust where they come from: it can run code"
    if name.endswith("multiarray.scalar"):
        at = f" at {entry.where}: float({entry.name})" if entry is not None and entry.where else ": float(…)"
        return (f"save plain numbers instead of NumPy's{at}, or int", trusted)
    return (
        f"allow that class before the call: torch.serialization.add_safe_globals([{name}]); others that it needs are named next",
        "or save the weights alone: torch.save(model.state_dict(), path)",
        trusted,
    )
