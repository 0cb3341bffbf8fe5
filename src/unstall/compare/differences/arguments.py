"""The arguments of two command lines, side by side: by name where they have one, else by place.

Whether the word behind `--multiprocessing` is its value or an argument of its own, a command line alone does not say. The source
of the program does, where it declares the option as a switch (argparse, click, absl); else the other command line may: a word
that stands there by itself is no value here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from unstall.compare.differences.difference import Difference, create_difference
from unstall.compare.record.results import get_section

TEMPORARY = re.compile(r"^(/tmp/|/var/tmp/|/dev/shm/|/proc/|/run/)|unstall")
GIVEN = "given"
_SWITCHES = frozenset({"store_true", "store_false", "store_const", "append_const", "count", "help", "version"})
_SWITCH_WORDS = ("store_", "append_const", "count", "is_flag", "BooleanOptionalAction", "DEFINE_bool")
_SETTING = re.compile(r"[+~]{0,2}[A-Za-z_][\w.@/]*=")  # as Hydra takes it: model.depth=50
MAX_SOURCE = 2**19  # characters of a file that is looked into


def find_argument_differences(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Of the records of two runs: what stands after the script, without files that only lie in another temporary folder."""
    was, is_now = list_arguments(before, after)
    same = {name for name in was if _is_same_temporary(was[name], is_now.get(name))}
    return {name: was[name] for name in was if name not in same}, {name: is_now[name] for name in is_now if name not in same}


def list_arguments(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    old, new = _after_script(before), _after_script(after)
    switches = _declared(before) | _declared(after)
    switches |= _not_followed_by_a_value(old, new, switches) | _not_followed_by_a_value(new, old, switches)
    return _named(old, switches), _named(new, switches)


def _after_script(record: dict[str, Any]) -> list[str]:
    command = [str(each) for each in get_section(record, "run").get("command") or []]
    return command[next((place + 1 for place, each in enumerate(command) if each.endswith(".py")), 1) :]


def _named(words: list[str], switches: frozenset[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    place, plain = 0, 0
    while place < len(words):
        word = words[place]
        name, equals, value = word.partition("=")
        if equals and (word.startswith("-") or _SETTING.match(word)):
            pass
        elif word.startswith("-") and not _is_number(word):
            has_value = word not in switches and place + 1 < len(words) and not _is_option(words[place + 1])
            name, value = word, words[place + 1] if has_value else GIVEN
            place += has_value
        else:
            plain += 1
            name, value = f"argument {plain}", word
        found[name] = f"{found[name]} {value}" if name in found else value
        place += 1
    return found


def _not_followed_by_a_value(words: list[str], other: list[str], switches: frozenset[str]) -> frozenset[str]:
    """Options whose next word is an argument of its own in the other command line, where the option has no value either."""
    named, of_other = _named(words, switches), _named(other, switches)
    alone = {value for name, value in of_other.items() if name.startswith("argument ")}
    return frozenset(
        name
        for name, value in named.items()
        if name.startswith("-") and value in alone and of_other.get(name, GIVEN) == GIVEN and f"{name}={value}" not in words
    )


def _is_option(text: str) -> bool:
    return text.startswith("-") and text != "-" and not _is_number(text)


def _is_number(text: str) -> bool:
    """A negative number is a value."""
    return re.match(r"-\.?\d", text) is not None


def is_temporary(value: Any) -> bool:
    return isinstance(value, str) and TEMPORARY.search(value) is not None


def _is_same_temporary(was: str, is_now: str | None) -> bool:
    """A file of the same name, in a folder that each run has for itself."""
    return is_now is not None and is_temporary(was) and is_temporary(is_now) and PurePath(was).name == PurePath(is_now).name


# --- what the source declares ---


def _declared(record: dict[str, Any]) -> frozenset[str]:
    """Options that take no value, as the source of the program declares them."""
    found: set[str] = set()
    for file, entry in get_section(record, "sources").items():
        text = str(entry.get("text") or "") if isinstance(entry, dict) else ""
        if not str(file).endswith(".py") or len(text) > MAX_SOURCE or not any(word in text for word in _SWITCH_WORDS):
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                found.update(_switches_of(node))
    return frozenset(found)


def _switches_of(call: ast.Call) -> list[str]:
    texts = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if called in {"DEFINE_bool", "DEFINE_boolean"}:
        return [f"{dashes}{no}{name}" for name in texts[:1] for dashes in ("-", "--") for no in ("", "no")]
    options = [part for text in texts for part in text.split("/") if part.startswith("-")]
    return options if any(_makes_switch(keyword) for keyword in call.keywords) else []


def _makes_switch(keyword: ast.keyword) -> bool:
    value = keyword.value
    if keyword.arg == "action":
        return getattr(value, "value", None) in _SWITCHES or getattr(value, "attr", "") == "BooleanOptionalAction"
    return keyword.arg in {"is_flag", "count"} and getattr(value, "value", None) is True


# Files that both command lines name under the same argument: configurations line by line, others by their size and hash.


def pair_sources(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The sources of both. A configuration that each run has in a file of another name stands under the newer name in both, so
    that its lines are compared, not its path."""
    old, new = dict(get_section(before, "sources")), dict(get_section(after, "sources"))
    were, are = list_arguments(before, after)
    for name, value in are.items():
        was, is_now = _recorded(were.get(name), old), _recorded(value, new)
        if was and is_now and was != is_now and was not in new and is_now not in old:
            old[is_now] = old.pop(was)
    return old, new


def _recorded(value: str | None, files: dict[str, Any]) -> str | None:
    """The name under which a file that an argument names was recorded."""
    path = str(PurePath(value)) if value else ""
    return next((file for file in files if path and (file == path or f"/{file}".endswith(f"/{path}"))), None) or next(
        (file for file in files if path.endswith(f"/{file}")), None
    )


def find_named_file_differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    """Of a file that both name by the same path, and that is another one now."""
    old, new = get_section(before, "named_files"), get_section(after, "named_files")
    for name in sorted({*old} & {*new}):
        was, is_now = old[name], new[name]
        if not isinstance(was, dict) or not isinstance(is_now, dict) or was.get("sha256") == is_now.get("sha256"):
            continue
        sizes = [each.get("size_bytes") for each in (was, is_now)]
        sizes_differ = sizes[0] != sizes[1] and all(isinstance(size, int) for size in sizes)
        how = f": {sizes[0]:,} → {sizes[1]:,} bytes" if sizes_differ else ", in as many bytes as before"
        words = f"{name} changed{how}"
        yield create_difference("named_files", "data_contents", sizes[0], sizes[1], words, detail=name)
