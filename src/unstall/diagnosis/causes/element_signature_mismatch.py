"""A data set's elements do not have the form that a function, or the declared signature, expects.

What it is
----------
`Dataset.map` passes the parts of a tuple to its function as one argument each, and a dict as one argument. A function that
takes another number of arguments cannot be called. `from_generator` is told the structure, dtypes and shapes of what the
generator yields, and refuses an element that differs.

How we know
-----------
Python or TensorFlow refuses the call or the element. Unstall shows what the elements consist of, where it can see them, and the
lines of the stage and of the function.

When this is wrong
------------------
If the stage before was meant to give another form: which of the two is wrong, the forms do not say.

What to do
----------
Let the function take as many arguments as the elements have parts, or unpack a dict inside it. Declare in `output_signature`
what the generator yields: shapes with None for sides that differ, and dtypes of NumPy's arrays, which are float64 and int64 if
nothing else is said.
"""

from __future__ import annotations

import re
from typing import Any

from unstall.diagnosis.errors.evidence import create_found, describe_line
from unstall.diagnosis.errors.failures import (
    Failure,
    UserLine,
    Value,
    create_line,
    describe_components,
    describe_value,
    find_failure,
    parse_shapes,
)
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.pipelines import shorten_stage
from unstall.diagnosis.verdict import Clear, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import is_user_file

_ARITY = re.compile(
    r"(?P<function>[\w.<>]+)\(\) (?:takes (?:from \d+ to )?(?P<takes>\d+) positional arguments? but "
    r"(?P<given>\d+) (?:was|were) given"
    r"|missing (?P<missing>\d+) required positional arguments?: (?P<names>[^\n]+))"
)
_YIELDED = re.compile(
    r"`generator` yielded an element (?:of shape (?P<shape>\([^)]*\)) where an element of shape "
    r"(?P<wanted>\([^)]*\)) was expected"
    r"|that (?:could not be converted to the expected type|did not match the expected structure)\. The expected "
    r"(?:type|structure) was"
    r" (?P<declared>[^\n]+?), but the yielded element was (?P<yielded>[^\n]+))"
)
_OF_DATA = "/data/"
_MAX_LETTERS = 160


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    message = failure.error.message
    yielded = _YIELDED.search(message)
    if yielded is not None:
        return _of_generator(failure, yielded)
    arity = _ARITY.search(message)
    called = _call_of_function(failure)
    if arity is not None and called is not None and failure.error.kind == "TypeError":
        return _of_function(failure, arity, called)
    return Clear("the error is about something else")


def _call_of_function(failure: Failure) -> list[dict[str, Any]] | None:
    """The parts of the element, as tf.data gave them to the function; None where it was not tf.data that called it."""
    in_data = any("tensorflow" in frame["file"] and _OF_DATA in frame["file"] for frame in failure.error.frames)
    calls = failure.inspected.calls if failure.inspected is not None else []
    is_own_call = bool(failure.error.frames) and is_user_file(failure.error.frames[0]["file"])  # inside that function
    if not in_data or failure.quoted or is_own_call:
        return None
    for call in reversed(calls):
        for value in call["values"]:
            if value["name"] in ("args", "nested_args") and value.get("type") in ("tuple", "list"):
                return list(value.get("items") or [])
    return []


def _of_function(failure: Failure, match: re.Match[str], parts: list[dict[str, Any]]) -> Verdict:
    function = match["function"].rpartition(".")[2].removeprefix("tf__")
    name = "the lambda" if "lambda" in function else f"`{function}`"
    if match["missing"]:
        said = f"{name[0].upper()}{name[1:]} lacks the argument{'s' if match['missing'] != '1' else ''} {match['names'].strip()}."
    else:
        said = (
            f"{name[0].upper()}{name[1:]} takes {match['takes']} "
            f"argument{'s' if match['takes'] != '1' else ''}, and is given {match['given']}."
        )
    given = [describe_value(part) for part in parts]
    before = next((stage for stage in reversed(failure.stages) if stage.facts.get("returns")), None)
    names = before.facts["returns"] if before is not None else []
    if before is not None and len(names) == len(given):
        given = [f"`{part}` {words}" if part else words for part, words in zip(names, given, strict=True)]
    if given:
        said += f" An element has {len(given)} part{'s' if len(given) != 1 else ''}: {'; '.join(given)}."
    if before is not None and before.where and given:
        made = (before.facts.get("arguments") or {}).get("function", "").rpartition(".")[2]
        at = shorten_stage((before.facts.get("arguments") or {}).get("function_where"), failure.folder)
        said += f" So `{made}` at {at} returns it, the function of the {before.what} at {before.where}."
    has_dict = any("keys" in part for part in parts)
    unpack = "take a dict as one argument and unpack it inside the function, by its keys" if has_dict else ""
    actions = (
        f"let {name} take {len(given)} argument{'s' if len(given) != 1 else ''}"
        if given
        else f"let {name} take as many arguments as an element has parts",
        *((unpack,) if unpack else ()),
        "or change the stage before, if it was meant to give other parts",
    )
    stages = failure.written_stages
    claims = tuple(f"{stage.what} at {stage.where}: {stage.code}" for stage in stages[-2:])
    return create_found(
        failure, f"A stage of a data set calls a function that does not fit its elements. {said}", actions, claims
    )


def _of_generator(failure: Failure, match: re.Match[str]) -> Verdict:
    if match["shape"]:
        said = f"It yielded the shape {match['shape']}, and {match['wanted']} was declared."
    else:
        said = f"It yielded {_short(match['yielded'])}, and {_short(match['declared'])} was declared."
    stage = next((stage for stage in failure.written_stages if stage.what == "from_generator"), None)
    standing = failure.maker("generator")
    line = create_line(standing.facts["line"], failure.folder) if standing is not None else None
    claims = []
    if line is not None:
        element = _element(line)
        said += f" It was yielded at {line.place_in_words}{f', while {element} was handled' if element else ''}."
        claims.append(f"the generator stood at {describe_line(line)}")
        makers = [(value, line.find_maker(value)) for value in line.values if value.is_array]
        claims += [f"`{value.name}` was made at {maker.where}: {maker.code}" for value, maker in makers if maker is not None]
    if stage is not None:
        declared = describe_components(stage.facts.get("components") or [])
        claims.append(f"from_generator at {stage.where}: {stage.code}")
        claims += [f"declared there: {declared}"] if declared and stage.facts.get("name") != "TensorSlice" else []
    return create_found(
        failure,
        f"A generator yielded an element that is not of the form that was declared for it. {said}",
        _of_form(match["shape"], match["wanted"]) if match["shape"] else _ELSE,
        tuple(claims),
        line.where if line is not None else stage.where if stage is not None else None,
    )


_ELSE = (
    "if the element is wrong, correct it before it is yielded",
    "or, if what was declared is wrong, declare in output_signature what the generator yields",
)


def _of_form(came: str, declared: str) -> tuple[str, ...]:
    """By what the two shapes have in common."""
    shape, wanted = parse_shapes(came), parse_shapes(declared)
    if not shape or not wanted:
        return _ELSE
    if len(wanted[0]) == 3 and wanted[0][-1] in (3, 4) and shape[0] == wanted[0][:-1]:
        kind = "RGB" if wanted[0][-1] == 3 else "RGBA"
        return (
            "where it is an image, it has no channels, as a gray one has none: convert it where it is read, "
            f'Image.open(path).convert("{kind}")',
            "read every file once before training, and list those whose shape differs",
        )
    if len(shape[0]) == len(wanted[0]):
        return (_ELSE[0], f"{_ELSE[1]}: None for each side that differs between elements")
    return _ELSE


def _element(line: UserLine) -> str:
    """`path` = 'plant_07.png': where the innermost loop around the line stands."""
    for loop in reversed(line.loops):
        values = [Value(each["name"], each) for each in loop["values"] if "text" in each]
        if values:
            return " and ".join(f"`{value.name}` = {value.words}" for value in values[:2])
    return ""


def _short(text: str) -> str:
    text = text.strip().rstrip(".")
    return text if len(text) <= _MAX_LETTERS else f"{text[:_MAX_LETTERS]}…"
