"""Arrays or lists that belong together have not the same length.

What it is
----------
Images and their labels are given as several arrays, of which row N of one belongs to row N of the others. They have different
numbers of rows. Often one list was appended to once for each image, and another once for each object.

How we know
-----------
TensorFlow, Keras, scikit-learn, pandas and PyTorch refuse such arrays. Unstall reads the lengths of the arrays in the user's
line by name, and the lines that made them.

When this is wrong
------------------
If the arrays have the right lengths and one of them was given in the wrong place.

What to do
----------
Append to all lists at the same place of the loop. For boxes, keep one list of boxes for each image. A file that is left out
must be left out of all lists.
"""

from __future__ import annotations

import re
from typing import Any

from unstall.diagnosis.errors.evidence import create_found, describe_insides
from unstall.diagnosis.errors.failures import Failure, UserLine, Value, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Certainty, Clear, LineChange, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import format_place

_REFUSED = re.compile(
    r"Data cardinality is ambiguous|inconsistent numbers of samples|[Aa]ll arrays must be of the same length"
    r"|arrays must all be same length"
    r"|Size mismatch between tensors|zip\(\) argument \d+ is (?:shorter|longer) than argument|Length of values "
    r"\(\d+\) does not match length of index"
)
_DIMENSIONS = re.compile(r"Dimensions (?P<first>\d+) and (?P<other>\d+) are not compatible")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    message, raised = failure.error.message, failure.raised
    dimensions = _DIMENSIONS.search(message) if failure.argument("from_tensor_slices", "tensors") is not None else None
    if raised is None or (dimensions is None and _REFUSED.search(message) is None):
        return Clear("the error is about something else")
    lengths = {value.name: length for value in raised.values if (length := _length(value)) is not None}
    if dimensions is not None:
        lengths = {
            name: length for name, length in lengths.items() if length in (int(dimensions["first"]), int(dimensions["other"]))
        }
    sizes = {int(number) for number in re.findall(r"\d+", message.partition("sizes:")[2] if "sizes:" in message else "")}
    if len(sizes & set(lengths.values())) > 1:
        lengths = {name: length for name, length in lengths.items() if length in sizes}
    differ = len(set(lengths.values())) > 1
    if differ:
        said = ", ".join(f"`{name}` has {length:,}" for name, length in lengths.items())
        said = f" {said}."
    else:
        said = f" Two of the lengths are {dimensions['first']} and {dimensions['other']}." if dimensions is not None else ""
    made = [value for value in raised.values if value.name in lengths]
    insides = describe_insides(made) if differ else ()
    more, action, change = _explain_difference(raised, lengths) if len(lengths) == 2 else ("", "", None)
    of_own = "where each of them has a loop of its own, let both loops begin and end at the same examples"
    return create_found(
        failure,
        f"Arrays that belong together have different numbers of rows.{said}{more}",
        (action or of_own,)
        if len(insides) > 1
        else (
            "append to all of them at the same place of the loop that makes them, once for each example",
            "of boxes, keep one list for each image; what is left out of one must be left out of all",
        ),
        (*_makers(failure, lengths), *insides) if differ else (),
        changes=(change,),
        certainty=Certainty.CERTAIN,
    )


def _explain_difference(raised: UserLine, lengths: dict[str, int]) -> tuple[str, str, LineChange | None]:
    """The one number of those that the arrays are made with which is as large as their difference, or by one more or less; and
    what to do in the loop of the longer one."""
    longer, shorter = sorted(lengths, key=lambda name: -lengths[name])
    difference = lengths[longer] - lengths[shorter]
    said = f" `{longer}` has {difference:,} more than `{shorter}`"
    numbers = {value.name: int(text) for value in raised.origins if (text := str(value.facts.get("text", ""))).isdigit()}
    by = {name: number - difference for name, number in numbers.items() if number > 1 and abs(number - difference) <= 1}
    value = raised.value(longer)
    lines = (value.facts.get("made_in") or ()) if value is not None else ()
    loops = [line for line in lines if line["source"].startswith(("for ", "while "))]
    if len(by) != 1 or not difference:
        return "", "", None
    name, off = next(iter(by.items()))
    words = f"`{name}`{f' {chr(45) if off > 0 else chr(43)} 1' if off else ''}"
    said += f", as many as {words} ({name} is {numbers[name]})."
    if value is None or len(loops) != 1:
        return said, "", None
    file, _, number = loops[0]["where"].rpartition(":")
    at = format_place(file, int(number), value.folder)
    change = _shorten_loop(loops[0]["source"], at, name, off, [line["source"] for line in _insides(raised)])
    return (
        said,
        f"let the loop at {at}, which makes `{longer}`, make {difference:,} fewer: it may leave {words} out of account",
        change,
    )


def _insides(raised: UserLine) -> list[dict[str, Any]]:
    return [line for value in raised.values for line in value.facts.get("made_in") or ()]


def _shorten_loop(source: str, at: str, name: str, off: int, lines: list[str]) -> LineChange | None:
    """`range(n)` by as many as the number says, where the function that has the loop knows it by the same name."""
    own = name.rpartition(".")[2]
    match = re.fullmatch(r"(?P<head>for \w+ in range\()(?P<count>[^,]+)(?P<tail>\):)", source.strip())
    if match is None or not any(re.search(rf"(?<![\w.]){own}\b", line) for line in lines):
        return None
    less = own if not off else f"({own} {'-' if off > 0 else '+'} 1)"
    return LineChange(
        at, (source,), (f"{match['head']}{match['count']} - {less}{match['tail']}",), "if it is this one that makes too many"
    )


def _length(value: Value) -> int | None:
    """Of a list, tuple or array: the number of its rows."""
    if value.shape is not None:
        return value.shape[0] if value.shape else None
    is_sequence = value.facts.get("type") in ("list", "tuple", "pandas.DataFrame", "pandas.Series")
    return value.facts.get("length") if is_sequence else None


def _makers(failure: Failure, lengths: dict[str, int]) -> tuple[str, ...]:
    raised = failure.raised
    makers = [raised.find_maker(value) for value in raised.values if value.name in lengths] if raised is not None else []
    names: dict[str, list[str]] = {}
    for maker in makers:
        if maker is not None and maker.where:
            names.setdefault(f"{maker.where}: {maker.code}", []).append(f"`{maker.name}`")
    return tuple(f"{' and '.join(each)} began at {where}" for where, each in names.items())[:3]
