"""An operation was given tensors or arrays of different types, or of a type that it cannot take.

What it is
----------
TensorFlow never converts a tensor from one dtype to another by itself. NumPy makes float64 where nothing else is said, Keras
and TensorFlow compute in float32, mixed precision gives float16, and labels and image pixels are integers. A list of rows of
unequal length becomes an array of objects, which no tensor can hold.

How we know
-----------
The framework refuses, and says the dtypes. Unstall shows which names in the user's line have which dtype, and the lines that
made them.

When this is wrong
------------------
If one of the two tensors is not the one that was meant: the dtypes do not say which of them is wrong.

What to do
----------
Give arrays their dtype where they are made (`dtype="float32"`), or cast one of the two: `tf.cast(x, y.dtype)`. Under mixed
precision, give the last layer `dtype="float32"`. Make rows of unequal length equal by padding, or use `tf.ragged.constant`.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import create_found, describe_dtype
from unstall.diagnosis.errors.failures import Failure, Value, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Clear, Verdict
from unstall.journal.reader import Journal

_DIFFERENT = (  # with what is said of the two
    (
        re.compile(r"was expected to be an? (?P<asked>\w+) tensor but is an? (?P<given>\w+) tensor"),
        "An operation was given {given} where {asked} is needed",
    ),
    (
        re.compile(r"has type (?P<given>\w+) that does not match type (?P<asked>\w+)"),
        "An operation was given {given} and {asked}",
    ),
    (
        re.compile(r"has type (?P<given>\w+) that does not match expected type of (?P<asked>\w+)"),
        "An operation was given {given}, and takes {asked}",
    ),
    (
        re.compile(r"Tensor conversion requested dtype (?P<asked>\w+) for Tensor with dtype (?P<given>\w+)"),
        "A tensor is {given}, and {asked} is needed",
    ),
    (
        re.compile(r"Cannot cast ufunc '?\w+'? output from dtype\('(?P<given>\w+)'\) to dtype\('(?P<asked>\w+)'\)"),
        "The result is {given}, and is to be stored as {asked}",
    ),
)
_REFUSED = (
    re.compile(r"Value for attr '\w+' of (?P<given>\w+) is not in the list of allowed values: (?P<asked>[\w, ]+)"),
    re.compile(r"Cast (?P<given>string) to (?P<asked>\w+) is not supported"),
    re.compile(r"Invalid dtype: (?P<given>\w+)"),
    re.compile(r"Failed to convert a NumPy array to a Tensor \(Unsupported object type (?P<given>[\w.]+)\)"),
)
# The names of C, by which TensorFlow speaks of some types.
_NAMES = {"float": "float32", "double": "float64", "half": "float16"}
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    message = failure.error.message
    for pattern, words in _DIFFERENT:
        match = pattern.search(message)
        if match is not None:
            return _of_different(failure, _name(match["given"]), _name(match["asked"]), words)
    for pattern in _REFUSED:
        match = pattern.search(message)
        if match is not None:
            return _of_refused(failure, _name(match["given"]), match.groupdict().get("asked") or "")
    return Clear("the error is about something else")


def _name(dtype: str) -> str:
    return _NAMES.get(dtype, dtype)


def _of_different(failure: Failure, given: str, asked: str, words: str) -> Verdict:
    if given == asked:
        return Clear("the dtypes of the error are the same")
    values = [value for value in _values(failure) if value.dtype in (given, asked)]
    shown = values if {value.dtype for value in values} == {given, asked} else []
    named = ", ".join(f"`{value.name}` is {value.dtype}" for value in shown)
    said = f"{words.format(given=given, asked=asked)}: types are not converted by themselves.{f' {named}.' if named else ''}"
    origin, since = describe_dtype(failure) if "float64" in (given, asked) else ("", None)
    said += f" {origin}." if origin else ""
    half = "float16" in (given, asked) or "bfloat16" in (given, asked)
    actions = []
    if half and {given, asked} <= set(_FLOATS):
        actions.append(
            'under mixed precision, give the last layer dtype="float32", or cast its output: tf.cast(output, "float32")'
        )
    elif since is not None:
        actions.append(f"give the array its dtype at {since.where}: dtype=np.float32, or .astype(np.float32) on the result")
    elif {given, asked} <= set(_FLOATS):
        actions.append(
            "make both of one type: give the array its dtype where it is made, as NumPy makes float64 if nothing else is said"
        )
    if "string" in (given, asked):  # which no cast makes
        turn = "tf.strings.as_string(x)" if asked == "string" else f"tf.strings.to_number(x, tf.{asked})"
        actions.append(f"turn the one into the other: {turn}; or leave out an operation that is meant for {asked}")
    elif since is not None:
        actions.append("or cast all data, inputs and labels alike, before it comes to the model: tf.cast(x, tf.float32)")
    else:
        actions.append(f"{'or ' if actions else ''}cast one of the two in this line: tf.cast(x, tf.{asked})")
    claims = (f"{since.where}: {since.code}",) if since is not None else ()
    return create_found(
        failure, said, tuple(actions), (*claims, *_makers(failure, shown)), since.where if since is not None else None
    )


def _of_refused(failure: Failure, given: str, asked: str) -> Verdict:
    actions: tuple[str, ...]
    if given in ("object", "list", "numpy.ndarray", "tuple") or given.endswith("ndarray"):
        said = "An array of Python objects was given where numbers are needed: a tensor cannot hold them."
        actions = (
            "look at the rows: those of unequal length become objects, and so do columns that mix texts, None and numbers",
            "pad the rows to one length, or convert the column: array.astype('float32')",
        )
    elif given.startswith(("str", "string")):
        said = "Texts were given where numbers are needed."
        actions = (
            "convert texts that are numbers by tf.strings.to_number, or float()",
            "turn names of classes into numbers first: keras.layers.StringLookup, or a dict of your own",
        )
    else:
        wanted = f" It takes {asked.strip()}." if asked else ""
        said = f"An operation was given {given}, which it cannot take.{wanted}"
        actions = ("cast it before: tf.cast(x, tf.float32), or the type that fits",)
    values = [value for value in _values(failure) if value.dtype.startswith(given[:3])]
    named = f" `{values[0].name}` is {values[0].words}." if values else ""
    return create_found(failure, f"{said}{named}", actions, _makers(failure, values[:2]))


def _values(failure: Failure) -> list[Value]:
    """Those of the failing line; of a function that TensorFlow has traced, its arguments."""
    raised = failure.raised
    values = [value for value in raised.values if value.dtype] if raised is not None else []
    if values or raised is None:
        return values
    for call in reversed(failure.inspected.calls if failure.inspected is not None else []):
        if call["function"] == f"tf__{raised.function}":
            return [Value(each["name"], each, failure.folder) for each in call["values"] if each.get("dtype")]
    return values


def _makers(failure: Failure, values: list[Value]) -> tuple[str, ...]:
    raised = failure.raised
    makers = [(value, raised.find_maker(value)) for value in values] if raised is not None else []
    return tuple(f"`{value.name}` was made at {maker.where}: {maker.code}" for value, maker in makers if maker is not None)[:3]
