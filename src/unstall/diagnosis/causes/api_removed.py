"""The program uses a name or an argument that its version of a library no longer has.

What it is
----------
Code was written for an older version: TensorFlow 1 on TensorFlow 2, Keras 2 on Keras 3, NumPy before 2.0 or before 1.24. A
function, a module or an argument that it uses has been removed or renamed since.

How we know
-----------
Python says which module, object or function lacks which name. Where that name is one that the library is known to have had and
removed, this says in which version, and what to write now. Of an argument, the call in the user's own line must have it, too.

When this is wrong
------------------
If a file of your own has the name of the library and is imported in its place: then that file lacks the name.

What to do
----------
Write the new name, which is shown. Or install the older version that the code was written for, in an environment of its own.
"""

from __future__ import annotations

import ast
import re
import textwrap

from unstall.diagnosis.errors.evidence import as_maker, create_found
from unstall.diagnosis.errors.failures import Failure, UserLine, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end, format_texts
from unstall.diagnosis.errors.line_changes import rename_keyword, replace_expression
from unstall.diagnosis.errors.removed_names import (
    TITLES,
    RemovedName,
    find_removed_argument,
    find_removed_from_module,
    find_removed_from_object,
)
from unstall.diagnosis.verdict import Certainty, Clear, LineChange, Verdict
from unstall.journal.events import FrameworkLoaded
from unstall.journal.reader import Journal

# Python's own words, and those of NumPy where it answers for its modules itself.
_OF_MODULE = re.compile(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_IMPORTED = re.compile(r"cannot import name '(?P<name>\w+)' from (?:partially initialized module )?'(?P<module>[\w.]+)'")
_NO_MODULE = re.compile(r"No module named '(?P<module>[\w.]+)'")
_OF_NUMPY = re.compile(r"`np\.(?P<name>\w+)` was removed")
_OF_OBJECT = re.compile(r"'(?P<kind>\w+)' object has no attribute '(?P<name>\w+)'")
_QUOTED = re.compile(r"['\"`]?(?P<name>[A-Za-z_]\w*)['\"`]?")
_REFUSED = ("TypeError", "ValueError")
_ARGUMENT = re.compile(
    r"unexpected keyword argument|[Aa]rgument\(?s?\)? not (?:recognized|understood)|[Uu]nrecognized keyword|is deprecated"
)
_SHIMS = ("_tf_keras", "api", "_api", "v2", "_v2", "src", "python")  # parts of a module's name that users do not write
_TF_ALIASES = ("tf", "tensorflow")
_PREFIXES = {"numpy": "np.", "tensorflow": "tf.", "keras": "keras.", "scipy": "scipy.", "sklearn": "sklearn.", "jax": "jax."}
_STANDARD = ("collections", "distutils", "imp", "inspect", "fractions", "xml", "time")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    removed = find_removed_name(failure)
    if removed is not None:
        return _found(journal, failure, removed, "", (_renamed(failure.raised, removed),))
    argument = _removed_argument(failure)
    if argument is not None:
        function, removed = argument
        change = rename_keyword(as_maker(failure.raised), function, removed.name, removed.now) if failure.raised else None
        return _found(journal, failure, removed, function, (change if _is_name(removed.now) else None,))
    return Clear("the error is about no name that is known to be removed")


def _found(
    journal: Journal, failure: Failure, removed: RemovedName, function: str, changes: tuple[LineChange | None, ...]
) -> Verdict:
    title = TITLES[removed.library]
    versions = [event.version for event in journal.of(FrameworkLoaded) if event.name == removed.library and event.version]
    if versions and removed.since and _numbers(versions[-1]) < _numbers(removed.since):
        return Clear(f"{title} {versions[-1]} still has this name")
    what = f"the argument `{removed.name}` of {function}" if function else f"`{_written(removed)}`"
    went = (
        f"was removed from {title}, and version {removed.since} no longer has it" if removed.since else f"is no longer in {title}"
    )
    installed = f" Version {versions[-1]} is loaded." if versions else ""
    now = f" It is called `{removed.now}` now." if not removed.now.startswith("use ") else ""
    advice = removed.now if removed.now.startswith("use ") else f"use {removed.now}"
    older = f"or install a version of {title} below {removed.since}, in an environment of its own" if removed.since else ""
    is_seen = removed.library not in ("tensorflow", "keras") or bool(versions)
    return create_found(
        failure,
        f"{what[0].upper()}{what[1:]} {went}.{installed}{now}",
        _also_removed(failure, removed) or ((advice, older) if older and removed.library != "python" else (advice,)),
        changes=changes,
        certainty=Certainty.CERTAIN if is_seen else Certainty.LIKELY,
    )


def _also_removed(failure: Failure, removed: RemovedName) -> tuple[str, ...]:
    """Of the old optimizers of Keras, the other old argument of the same call: it is ignored, and so the rate would not fall."""
    if removed.name != "lr" or removed.library != "keras" or failure.raised is None:
        return ()
    if not any(key.arg == "decay" for call in _calls(failure.raised) for key in call.keywords):
        return ()
    schedule = "keras.optimizers.schedules.InverseTimeDecay"
    return (
        f"`decay` of the same call is ignored by Keras 3, with a warning: give learning_rate a schedule instead, as {schedule}",
    )


def find_removed_name(failure: Failure) -> RemovedName | None:
    for text in format_texts(failure.error):
        for pattern in (_OF_MODULE, _IMPORTED, _NO_MODULE):
            match = pattern.search(text)
            if match is not None:
                library, path = _as_written(match["module"])
                name = ".".join(part for part in (path, match.groupdict().get("name") or "") if part)
                removed = find_removed_from_module(library, name) if library and name else None
                if removed is not None:
                    return removed
        of_numpy = _OF_NUMPY.search(text)
        if of_numpy is not None:
            return find_removed_from_module("numpy", of_numpy["name"])
        of_object = _OF_OBJECT.search(text)
        if of_object is not None and text.startswith("AttributeError"):
            return find_removed_from_object(of_object["kind"].removeprefix("_"), of_object["name"])
    return None


def _as_written(module: str) -> tuple[str, str]:
    """The library and the module within it, as users write it: keras._tf_keras.keras.layers is `layers` of keras."""
    parts = [part for part in module.split(".") if part not in _SHIMS]
    if "compat" in parts or not parts:
        return "", ""
    if parts[0] in _STANDARD:
        return "python", ".".join(parts)
    if "keras" in parts or "tf_keras" in parts:
        start = max(at for at, part in enumerate(parts) if part in ("keras", "tf_keras"))
        return "keras", ".".join(parts[start + 1 :])
    return parts[0], ".".join(parts[1:])


def _removed_argument(failure: Failure) -> tuple[str, RemovedName] | None:
    """An argument that the failing line gives to a call, which the message names, and which was removed."""
    raised, kind = failure.raised, failure.error.kind.rpartition(".")[2]
    if raised is None or kind not in _REFUSED or not _ARGUMENT.search(failure.error.message):
        return None
    named = {match["name"] for match in _QUOTED.finditer(failure.error.message)}
    for call in _calls(raised):
        function = getattr(call.func, "attr", "") or getattr(call.func, "id", "")
        for key in call.keywords:
            removed = find_removed_argument(function, key.arg or "")
            if removed is not None and key.arg in named:
                return function, removed
    return None


def _calls(line: UserLine) -> list[ast.Call]:
    try:
        tree = ast.parse(textwrap.dedent("\n".join(line.source)))
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _renamed(line: UserLine | None, removed: RemovedName) -> LineChange | None:
    """The change of the line, where the new name can take the place of the old one as it is written."""
    if line is None or not _is_name(removed.now):
        return None
    maker, last = as_maker(line), removed.name.rpartition(".")[2]
    roots = {"numpy": ("np", "numpy"), "tensorflow": _TF_ALIASES, "PIL": ("",), "python": ("",), "jax": ("jax",)}.get(
        removed.library, ()
    )
    for root in roots:
        before = f"{root}.{removed.name}" if root else removed.name
        after = removed.now.replace("np.", "numpy.", 1) if root == "numpy" else removed.now
        after = after.replace("tf.", "tensorflow.", 1) if root == "tensorflow" and after.startswith("tf.") else after
        change = replace_expression(maker, before, after)
        if change is not None:
            return change
    if removed.now.isidentifier():  # a method
        for call in _calls(line):
            if getattr(call.func, "attr", "") == last:
                before = ast.unparse(call.func)
                return replace_expression(maker, before, f"{before.removesuffix(last)}{removed.now}")
    return None


def _written(removed: RemovedName) -> str:
    """The name as users write it, with the name of the library where it is one of its modules."""
    is_of_module = find_removed_from_module(removed.library, removed.name) == removed
    return f"{_PREFIXES.get(removed.library, '')}{removed.name}" if is_of_module else removed.name


def _is_name(text: str) -> bool:
    return re.fullmatch(r"-?[A-Za-z_][\w.]*", text) is not None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
