"""What can be said of errors that need no cause of their own: a key that a dict does not have, values that do not go into so many
names, parts of a batch that no input of a model is called by, a file name whose ending Keras does not take.

Each looks at the values of the failing line first; what it cannot see it does not say.
"""

from __future__ import annotations

import ast
import difflib
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from unstall.diagnosis.errors.evidence import as_maker, find_failing_values
from unstall.diagnosis.errors.failures import Failure, UserLine, Value, describe_value
from unstall.diagnosis.errors.line_changes import replace_text
from unstall.diagnosis.verdict import LineChange

MIN_LIKENESS = 0.6
MAX_NAMES = 12
_UNPACKED = re.compile(
    r"(?:too many values to unpack \(expected (?P<few>\d+)|not enough values to unpack \(expected (?P<many>\d+))"
)
_INPUTS = re.compile(
    r"Missing data for input \"(?P<missing>[^\"]+)\"\. You passed a data dictionary with keys \[(?P<given>[^\]]*)\]\. "
    r"Expected the following keys: \[(?P<wanted>[^\]]*)\]"
)
_NONE = re.compile(r"'NoneType' object (?:has no attribute '(?P<attribute>\w+)'|is not subscriptable)")
_OUTPUT = re.compile(
    r"The path: \('(?P<key>[^']+)',?\) in the `\w+` argument, can't be found"
    r"|key '(?P<other>[^']+)' does not correspond to any model output"
)
_SCHEDULE = re.compile(r"`?LearningRateSchedule`? object as its `learning_rate`")
_SETTING_RATES = ("ReduceLROnPlateau", "LearningRateScheduler")
_ONE_RATE = ("use one of the two: leave the callback out, or give the optimizer a number as learning_rate",)
_SUFFIX = re.compile(r"must end in `(?P<suffix>\.[\w.]+)`.*?[Rr]eceived: (?:filepath=)?(?P<path>\S+)")
_NO_SUFFIX = re.compile(r"Invalid filepath extension for saving\..*?[Rr]eceived: filepath=(?P<path>\S+?)\.?(?:\s|$)")


@dataclass(frozen=True)
class Explanation:
    said: str
    actions: tuple[str, ...] = ()
    changes: tuple[LineChange, ...] = ()
    claims: tuple[str, ...] = ()
    where: str | None = None


def explain(failure: Failure) -> Explanation | None:
    """None where nothing more can be said than that the error was raised."""
    if failure.raised is None:
        return None
    raised = failure.raised
    of_values = None
    if _is_raised_there(failure, raised):
        of_values = _of_key(failure, raised) or _of_none(failure, raised) or _of_unpacking(failure, raised)
    return of_values or _of_inputs(failure) or _of_outputs(failure) or _of_schedule(failure) or _of_name(failure)


def _is_raised_there(failure: Failure, raised: UserLine) -> bool:
    """Whether the line itself failed, and not a library that it calls."""
    places = [(frame["file"], frame["line"]) for frame in failure.error.frames]
    return (raised.file, raised.line) not in places or places[0] == (raised.file, raised.line)


# --- a key that a dict does not have ---


def _of_key(failure: Failure, raised: UserLine) -> Explanation | None:
    key = _read_key(failure.text.message) if failure.text.name == "KeyError" else None
    if key is None:
        return None
    held = [value for value in find_failing_values(raised) if "keys" in value.facts]
    # Where not all keys are known, the key may be among the others.
    whole = [value for value in held if len(value.facts["keys"]) == value.facts["length"]]
    lacking = [value for value in whole if key not in value.facts["keys"]]
    if len(lacking) != 1:
        return None
    owner = lacking[0]
    keys = owner.facts["keys"]
    has = _join([repr(each) for each in keys[:MAX_NAMES]]) if len(keys) <= MAX_NAMES else f"{len(keys):,} others"
    said = f"`{owner.name}` has no key {key!r}: it {f'has {has}' if keys else 'is empty'}."
    names = [each for each in keys if isinstance(each, str)]
    if not isinstance(key, str):
        return Explanation(said, (f"give `{owner.name}` the key {key!r}, or ask for one that it has",))
    near = _find_near(key, names)
    asked = next((value for value in raised.values if value.facts.get("text") == repr(key) and value is not owner), None)
    if near and near.strip().lower() == key.strip().lower():
        return _of_spelling(said, key, near, asked, raised)
    change = None
    if near:
        said += f" The most similar one is {near!r}."
        change = _change_key(raised, owner, key, near) if asked is None else None
    where = _word_of_source(asked) if asked is not None else f"where {raised.where} asks for it"
    actions = () if change is not None else (f"correct {key!r} {where}, or add it to `{owner.name}`",)
    return Explanation(said, actions, (change,) if change is not None else ())


def _of_spelling(said: str, key: str, near: str, asked: Value | None, raised: UserLine) -> Explanation:
    """The key is there but for white space at its ends, or upper and lower case."""
    is_white = key.strip() == near.strip()
    what = "white space at its ends" if is_white else "upper and lower case"
    said += f" {near!r} differs from it only by {what}."
    call = "strip()" if is_white else "lower()"
    if asked is None or (key.strip() != near and not (not is_white and near == near.lower())):
        return Explanation(said, (f"write {near!r} in place of {key!r}",))
    change = _change_text(raised, asked.name, f".{call}")
    return Explanation(said, () if change is not None else (f"use `{asked.name}.{call}`",), (change,) if change else ())


def _change_text(raised: UserLine, name: str, more: str) -> LineChange | None:
    """With the quotes that the user wrote."""
    written = (name, name.replace("'", '"'))
    rows = (replace_text(as_maker(raised), each, f"{each}{more}") for each in dict.fromkeys(written))
    return next((row for row in rows if row is not None), None)


def _word_of_source(asked: Value) -> str:
    return f"in the data (it is `{asked.name}`)"


def _read_key(message: str) -> str | int | None:
    try:
        key = ast.literal_eval(message)
    except (ValueError, SyntaxError):
        return None
    return key if type(key) in (str, int) else None


def _find_near(key: str, keys: Sequence[str]) -> str:
    same = [each for each in keys if each.strip().lower() == key.strip().lower()]
    return (same or difflib.get_close_matches(key, keys, 1, MIN_LIKENESS) or [""])[0]


def _change_key(raised: UserLine, owner: Value, key: str, near: str) -> LineChange | None:
    for quote in ('"', "'"):
        before = f"{owner.name}[{quote}{key}{quote}]"
        if before in " ".join(raised.source):
            return replace_text(as_maker(raised), before, f"{owner.name}[{quote}{near}{quote}]", f"if {near!r} is what is meant")
    return None


# --- an attribute of what is None ---


def _of_none(failure: Failure, raised: UserLine) -> Explanation | None:
    """Which expression of the line gave None, where only one of them is asked for that attribute."""
    match = _NONE.search(failure.text.message) if failure.text.name in ("AttributeError", "TypeError") else None
    try:
        tree = ast.parse(textwrap.dedent("\n".join(raised.source)))
    except SyntaxError:
        return None
    if match is None:
        return None
    name = match["attribute"]
    owners = [node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == name] if name else []
    owners = owners or [node.value for node in ast.walk(tree) if isinstance(node, ast.Subscript)] if not name else owners
    if len(owners) != 1:
        return None
    owner = ast.unparse(owners[0])
    if not isinstance(owners[0], ast.Call):
        return Explanation(f"`{owner}` is None there.")
    return Explanation(
        f"`{owner}` gave None: it did not find what it was asked for, or gives nothing.",
        (f"look at the element that was handled; where it may be missing, check for it: if {owner} is None",),
    )


# --- values that do not go into so many names ---


def _of_unpacking(failure: Failure, raised: UserLine) -> Explanation | None:
    match = _UNPACKED.search(failure.text.message) if failure.text.name == "ValueError" else None
    if match is None:
        return None
    wanted = int(match["few"] or match["many"])
    parted = [value for value in raised.values if "items" in value.facts and value.facts.get("length") != wanted]
    if len(parted) != 1 or parted[0].facts.get("type") not in ("tuple", "list"):
        return None
    value = parted[0]
    count = value.facts["length"]
    listed = "; ".join(describe_value(part) for part in value.facts["items"]) if count <= MAX_NAMES else ""
    said = f"`{value.name}` has {count:,} parts{f' ({listed})' if listed else ''}, and the line takes {wanted}."
    if raised.function in ("train_step", "test_step") and any("/keras/" in each["file"] for each in failure.error.frames):
        return _of_step(failure, raised, value, said)
    return Explanation(said, (f"take {count} parts there, or let what makes `{value.name}` give {wanted}",) if listed else ())


def _of_step(failure: Failure, raised: UserLine, value: Value, said: str) -> Explanation:
    """Keras gives a step what fit was given: inputs, targets, and weights where there are any."""
    given = [name for line in failure.own_lines for name in ("sample_weight", "class_weight") if f"{name}=" in line.code]
    if value.facts["length"] == 3:
        said += " The third is the weights of the examples"
        said += f", which fit was given as {given[0]}." if given else ", which the data gives."
    unpack = f"keras.utils.unpack_x_y_sample_weight({value.name})"
    return Explanation(
        said, (f"unpack it by x, y, sample_weight = {unpack}, which takes any of the forms, and use sample_weight in the loss",)
    )


# --- parts of a batch that no input of a model is called by ---


def _of_inputs(failure: Failure) -> Explanation | None:
    match = _INPUTS.search(failure.text.message)
    if match is None:
        return None
    given, wanted = (re.findall(r"'([^']*)'", match[group]) for group in ("given", "wanted"))
    others = [name for name in given if name not in wanted]
    layer = next((maker for maker in failure.makers if maker.what == "layer" and maker.name == match["missing"]), None)
    at = f", made at {layer.where}," if layer is not None and layer.where else ""
    said = f"The input `{match['missing']}` of the model{at} gets no data: the data has {_join([f'`{name}`' for name in given])}."
    if len(others) != 1:
        return Explanation(said, ("give the data and the inputs of the model the same names",))
    key = next((maker for maker in failure.makers if maker.what == "key" and maker.name == others[0]), None)
    place = f", which is written at {key.where}," if key is not None and key.where else ""
    said += f" `{others[0]}`{place} is not the name of an input."
    names = f"{match['missing']!r} in the data, or name={others[0]!r} of the input"
    return Explanation(
        said,
        (f"if `{others[0]}` is meant for it, give both one name: {names}",),
        claims=(f"{key.where}: {key.code}",) if key is not None and key.where else (),
        where=key.where if key is not None else None,
    )


# --- losses and metrics by the names of outputs ---


def _of_outputs(failure: Failure) -> Explanation | None:
    match, compiled = _OUTPUT.search(failure.text.message), failure.compiled
    values = [value for line in failure.own_lines for value in line.values if value.facts.get("outputs")]
    if match is None or not values:
        return None
    key, names = match["key"] or match["other"], values[-1].facts["outputs"]
    if key in names:
        return None
    said = f"`{key}` is not the name of an output of `{values[-1].name}`: {'these are' if len(names) > 1 else 'this is'} "
    said += f"{_join([f'`{name}`' for name in names])}."
    near = difflib.get_close_matches(key, names, 1, MIN_LIKENESS)
    rows = (
        [replace_text(compiled, f"{q}{key}{q}", f"{q}{near[0]}{q}") for q in ('"', "'")] if compiled is not None and near else []
    )
    changes = tuple(row for row in rows if row is not None)
    at = f" at {compiled.where}" if compiled is not None and compiled.where else ""
    claims = (f"the model was compiled at {compiled.where}: {compiled.code}",) if compiled is not None and compiled.where else ()
    action = () if changes else (f"let the keys of the losses and metrics{at} be the names of the outputs",)
    return Explanation(said, action, changes, claims, compiled.where if compiled is not None else None)


# --- a callback that sets a learning rate which a schedule sets ---


def _of_schedule(failure: Failure) -> Explanation | None:
    if _SCHEDULE.search(failure.text.message) is None:
        return None
    for line in reversed(failure.own_lines):
        for value in line.values:
            kind = str(value.facts.get("type", "")).rpartition(".")[2]
            if kind in _SETTING_RATES:
                maker = line.find_maker(value)
                at = f", made at {maker.where}," if maker is not None else ""
                claims = (f"{maker.where}: {maker.code}",) if maker is not None else ()
                said = (
                    f"`{value.name}` is a {kind}{at} and sets the learning rate, which the schedule of the optimizer sets, too."
                )
                return Explanation(said, _ONE_RATE, (), claims, maker.where if maker is not None else None)
    return Explanation("A schedule sets the learning rate, and something else shall set it, too.", _ONE_RATE)


# --- a file name whose ending Keras does not take ---


def _of_name(failure: Failure) -> Explanation | None:
    wanted, lacking = _SUFFIX.search(failure.text.message), _NO_SUFFIX.search(failure.text.message)
    match = wanted or lacking
    if match is None or failure.raised is None:
        return None
    path, suffix = match["path"], wanted["suffix"] if wanted is not None else ".keras"
    stem = re.sub(r"\.(?:weights\.h5|h5|hdf5|keras|weights|ckpt|tf)$", "", path)
    said = f"The file would be {path}, and its name must end in {suffix}."
    for line in reversed(failure.own_lines):
        texts = [text for text in _list_texts(line) if path.endswith(text) and text.strip("/")]
        if len(texts) != 1:
            continue
        text = texts[0]
        after = f"{text[: len(text) - (len(path) - len(stem))]}{suffix}" if len(text) > len(path) - len(stem) else ""
        change = replace_text(as_maker(line), text, after) if after else None
        if change is not None:
            return Explanation(said, (), (change,))
    return Explanation(said, (f"let the name of the file end in {suffix}",))


def _list_texts(line: UserLine) -> list[str]:
    """The texts that are written out in a statement."""
    return re.findall(r"""["']([^"'\n]*)["']""", "\n".join(line.source))


def _join(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
