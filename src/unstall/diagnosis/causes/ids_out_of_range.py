"""An embedding is asked for an id that it has no row for.

What it is
----------
An embedding with n rows has them for the ids 0 to n - 1. An id beyond that, or below 0, comes from a tokenizer or a dictionary
that has more entries than the model was told: words that were added, ids for padding and unknown words that were not counted, ids
that begin at 1, or -100 and -1 that stand for "no label". TensorFlow on a CPU and PyTorch end with an error; TensorFlow on a GPU
gives zeros, and JAX another row, without a word.

How we know
-----------
The error that ended the program comes from an embedding, and the ids of the batch or the message say which id is beyond which
number of rows.

When this is wrong
------------------
If the ids are wrong, and the number of rows is right: then it is the tokenizer or the table of another model that is used.

What to do
----------
Give the embedding one row more than the largest id, or map ids that are not known to one that is.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import describe_failure, describe_insides, describe_numbers, find_whole_numbers
from unstall.diagnosis.errors.failures import Failure, Maker, Value, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.reader import Journal

_OF_TENSORFLOW = re.compile(r"indices\[[\d, ]*\] = (?P<id>-?\d+) is not in \[0, (?P<rows>\d+)\)")
_EMBEDDING = re.compile(
    r"\w*embedding\w*/(?:Gather|embedding_lookup|take)|embedding_lookup|/layers/core/embedding\.py|\(Embedding\)", re.IGNORECASE
)
_OF_TORCH = re.compile(r"index out of range in self|Index .* out of range|indices? .*out of (?:bounds|range)")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    found = _of_tensorflow(failure) or _of_torch(failure)
    if found is None:
        return Clear("the error is not about the ids of an embedding")
    (least, most), rows = found
    wrong = f"the id {least}" if least < 0 else f"the id {most}"  # as the message has it
    held = find_whole_numbers(failure, most)
    if held is not None and held.facts["min"] >= 0:
        least, most = int(held.facts["min"]), int(held.facts["max"])
    maker = _find_embedding(failure)
    layer = f" `{maker.name}`" if maker is not None and maker.name else ""
    at = f", made at {maker.where}," if maker is not None and maker.where else ""
    from_one = " The ids seem to be numbered from 1." if least == 1 and most == rows else ""
    given = _find_numbering(failure, most)
    said, count = _describe_numbering(given) if given is not None else ("", "")
    at_line = f", at {maker.where}" if maker is not None and maker.where else ""
    rows_needed = f"give the embedding {most + 1:,} rows{count}{at_line}"
    actions = (
        ("leave out or map ids below 0 before the embedding: they stand for padding or for no label",)
        if least < 0
        else (
            f"{rows_needed}: one more than the largest id"
            if given is not None
            else f"give the embedding {most + 1:,} rows, one more than the largest id that was seen, if the ids are right"
            if held is not None and held.facts["min"] >= 0
            else "give the embedding as many rows as the largest id plus 1, counting the ids for padding and unknown words",
            *(
                ()
                if given is not None
                else ("or use the tokenizer or dictionary that the model was made for, and map unknown ids to one that is known",)
            ),
        )
    )
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The embedding{layer}{at} has {rows:,} rows, for the ids 0 to {rows - 1:,}, and is given {wrong}."
        f"{from_one}{said}",
        evidence=describe_failure(failure, *((describe_numbers(held), *describe_insides([held])) if held is not None else ())),
        actions=actions,
        where=maker.where if maker is not None and maker.where else failure.raised.where if failure.raised is not None else None,
    )


def _of_tensorflow(failure: Failure) -> tuple[tuple[int, int], int] | None:
    match = _OF_TENSORFLOW.search(failure.error.message)
    if match is None or not (_EMBEDDING.search(failure.error.message) or _is_in_embedding(failure)):
        return None
    return (int(match["id"]), int(match["id"])), int(match["rows"])


def _of_torch(failure: Failure) -> tuple[tuple[int, int], int] | None:
    """By what the function was given; the message names neither the id nor the rows."""
    ids, table = failure.argument("embedding", "input"), failure.argument("embedding", "weight")
    if ids is None or table is None or not table.shape or table.shape[0] is None or not _OF_TORCH.search(failure.error.message):
        return None
    least, most, rows = ids.facts.get("min"), ids.facts.get("max"), table.shape[0]
    if least is None or most is None or (least >= 0 and most < rows):
        return None
    return (int(least), int(most)), rows


def _find_numbering(failure: Failure, most: int) -> Value | None:
    """The dict of whole numbers in the lines at hand that gives the largest id."""
    values = [value for line in failure.lines for value in (*line.values, *line.origins) if value.facts.get("numbers")]
    return next((value for value in values if value.facts["numbers"][1] == most), None)


def _describe_numbering(given: Value) -> tuple[str, str]:
    """Where its numbers begin, and how many rows they need, by its length."""
    (first, last), length = given.facts["numbers"], given.facts["length"]
    below = "id 0 belongs" if first == 1 else f"ids 0 to {first - 1} belong"
    free = f"; {below} to no entry, as for padding and unknown words" if first > 0 else ""
    said = f" `{given.name}` numbers its {length:,} entries from {first} to {last}{free}."
    is_whole = last - first + 1 == length and given.name.isidentifier()
    return said, f", as len({given.name}){f' + {first}' if first else ''} gives" if is_whole else ""


def _is_in_embedding(failure: Failure) -> bool:
    return any("/layers/core/embedding.py" in frame["file"] for frame in failure.error.frames)


def _find_embedding(failure: Failure) -> Maker | None:
    """The line that made the layer: noted by Keras's hook, or that of the name in the program's failing line."""
    layers = [maker for maker in failure.makers if maker.what == "layer" and "Embedding" in str(maker.facts.get("class", ""))]
    if layers:
        return layers[0]
    raised = failure.raised
    for value in raised.values if raised is not None else ():
        if str(value.facts.get("type", "")).endswith("Embedding") and raised is not None:
            return raised.find_maker(value)
    return None
