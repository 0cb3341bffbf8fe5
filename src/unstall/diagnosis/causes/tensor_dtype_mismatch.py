"""An operation of PyTorch was given tensors of dtypes that do not go together, or of one that it does not take.

What it is
----------
NumPy and pandas make float64 where nothing else is said, and `torch.from_numpy` keeps that, while the weights of a model are
float32. Losses of classes take int64 labels, those of probabilities floating-point ones. Embeddings and indices take whole
numbers, and pictures that were read as uint8 must be converted before a convolution.

How we know
-----------
PyTorch refuses the operation. Unstall reads the dtypes of the values in the line, of what the layer was given and of its
weights, and which line made them.

When this is wrong
------------------
If the other of the two tensors is the one that should change, as for a model that computes in float64 or float16 on purpose.

What to do
----------
Convert the data where it is made: `.float()`, `.long()`, or `astype(np.float32)` in NumPy. Convert a model only where all its
data have that dtype.
"""

from __future__ import annotations

import re
from typing import Any

from unstall.diagnosis.errors.evidence import describe_dtype, describe_failure, find_failing_arrays
from unstall.diagnosis.errors.failures import Failure, Value, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.reader import Journal

_DIFFERENT = re.compile(
    r"must have the same dtype|to have the same dtype|should be the same|dtypes match, got|expected scalar type|[Ff]ound dtype"
)
_REFUSED = re.compile(
    r"expected target dtype to be|to have one of the following scalar types|tensors used as indices must be"
    r"|could not infer output dtype"
    r"|result type \w+ can't be cast to|[Ii]nput dtype must be|Expected floating point type for target|not implemented for '\w+'"
    r"|can't convert np\.ndarray of type numpy\.object_"
)
# PyTorch's names of dtypes in messages.
_NAMES = {
    "double": "float64", "float": "float32", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "long int": "int64",
    "int": "int32", "byte": "uint8", "unsigned char": "uint8", "char": "int8", "short": "int16", "bool": "bool",
}  # fmt: skip
_METHODS = {"float32": "float", "int64": "long", "float64": "double", "float16": "half", "int32": "int"}
_PAIR = re.compile(
    r"(?:but got:?|Input type|scalar type|got) \(?(?P<one>(?:long |unsigned )?\w+)\)?(?: tensor)?(?: for the destination)?"
    r" (?:and|but found|!=|but got)(?: \w+ type)? \(?(?P<other>(?:long |unsigned )?\w+)\)?"
)


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    text = failure.text
    is_different = _DIFFERENT.search(text.message) is not None and _dtypes(failure) is not None
    if text.kind not in ("RuntimeError", "IndexError", "TypeError") or not (is_different or _REFUSED.search(text.message)):
        return Clear("the error is about something else")
    return _of_different(failure) if is_different else _of_refused(failure)


def _dtypes(failure: Failure) -> tuple[str, str] | None:
    match = _PAIR.search(failure.text.message)
    pair = (_NAMES.get(match["one"].lower()), _NAMES.get(match["other"].lower())) if match is not None else (None, None)
    return (pair[0], pair[1]) if pair[0] is not None and pair[1] is not None and pair[0] != pair[1] else None


def _of_different(failure: Failure) -> Found:
    one, other = _dtypes(failure) or ("", "")
    layer, given = failure.layer, failure.argument("forward", "input")
    is_input_first = re.search(r"mat1 and mat2|Input type", failure.text.message) is not None
    dtype = given.dtype if given is not None else one if is_input_first else ""
    values = [value for value in find_failing_arrays(failure) if value.dtype in (one, other)]
    weights = ({one, other} - {dtype}).pop() if dtype in (one, other) else ""
    if layer is not None and weights:
        who = (
            f"the layer {layer.name} ({layer.facts.get('class', '')})"
            if layer.name
            else f"a layer {layer.facts.get('class', '')}"
        )
        is_float = dtype.startswith(("float", "bfloat"))
        origin, since = describe_dtype(failure) if dtype == "float64" else ("", None)
        source = _source(failure, dtype) if since is None else None
        origin = f" {origin}." if origin else ""
        at = f", at {since.where}" if since is not None else ""
        named = f" `{source[0].name}`, given its value at {source[1]}, is {dtype}." if source is not None else ""
        return _found(
            failure,
            f"The input of {who} is {dtype}, and its weights are {weights}: PyTorch converts neither.{named}{origin}",
            (
                f"convert the data where it is made{at}: .{_METHODS.get(weights, 'to')}(){_in_numpy(weights)}",
                "convert labels that are compared with the output in the same way",
                *((f"or convert the model, where all its data are {dtype}: model.to(torch.{dtype})",) if is_float else ()),
            ),
            since.where if since is not None else source[1] if source is not None else None,
            (f"{since.where}: {since.code}",) if since is not None else (),
        )
    listed = (
        " ".join(f"`{value.name}` is {value.dtype}." for value in values) if {v.dtype for v in values} == {one, other} else ""
    )
    return _found(
        failure,
        f"An operation was given {one} and {other}, and PyTorch does not convert them by itself. {listed}".rstrip(),
        (f"convert one of the two: .to(torch.{one}) or .to(torch.{other}), best where it is made", *_numpy_hint(one, other)),
    )


def _source(failure: Failure, dtype: str) -> tuple[Value, str] | None:
    """The outermost line in which an array of this dtype is used, with the line that gave it its value."""
    for line in failure.own_lines:
        for value in line.values:
            maker = line.find_maker(value)
            if value.is_in_failing and value.is_array and value.dtype == dtype and maker is not None and maker.where:
                return value, maker.where
    return None


def _of_refused(failure: Failure) -> Found:
    message = failure.text.message
    arrays = [value for value in find_failing_arrays(failure) if value.dtype]
    listed = " ".join(f"`{value.name}` is {value.dtype}." for value in arrays[:3])
    target = failure.argument("cross_entropy", "target") or failure.argument("nll_loss", "target")
    if "numpy.object_" in message:
        fix = "look at the rows: those of unequal length, and columns that mix texts and numbers, become objects"
    elif "expected target dtype" in message or (target is not None and "float" in target.dtype):
        fix = "give the loss class numbers as int64: target.long()"
    elif "can't be cast" in message and not any(
        "entropy" in row["function"] or "loss" in row["function"] for row in _calls(failure)
    ):
        fix = "make a new tensor instead of changing one in place: x = x + y, or convert x before"
    elif "can't be cast" in message or "floating point type for target" in message:
        fix = "give the loss labels of the output's dtype: target.float()"
    elif "indices" in message:
        fix = "give whole numbers as indices: .long(); to choose by a condition, a bool tensor"
    else:
        fix = "convert before the operation: .float() for means, norms and random numbers, .long() for indices"
    return _found(failure, f"The operation does not take this dtype: {message.rstrip('.')}. {listed}".rstrip(), (fix,))


def _calls(failure: Failure) -> list[dict[str, Any]]:
    return failure.inspected.calls if failure.inspected is not None else []


def _in_numpy(dtype: str) -> str:
    return f", or astype(np.{dtype}) in NumPy" if dtype in ("float32", "float16") else ""


def _numpy_hint(one: str, other: str) -> tuple[str, ...]:
    is_numpy = "float64" in (one, other) and "float32" in (one, other)
    return (
        ("give arrays of NumPy and pandas their dtype where they are made: float64 is what they have otherwise",)
        if is_numpy
        else ()
    )


def _found(
    failure: Failure, summary: str, actions: tuple[str, ...], where: str | None = None, claims: tuple[str, ...] = ()
) -> Found:
    return Found(
        certainty=Certainty.CERTAIN,
        summary=summary,
        evidence=describe_failure(failure, *claims),
        actions=actions,
        where=where or (failure.raised.where if failure.raised is not None else None),
    )
