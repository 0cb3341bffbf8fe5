"""The page of a cause: its docstring, with the limits printed from the code, so that the two cannot differ."""

from __future__ import annotations

import ast
import inspect
import re
from types import ModuleType
from typing import Any

from unstall.diagnosis.causes import CAUSES

HEADINGS = ("What it is", "How we know", "When this is wrong", "What to do")


def list_limits(name: str) -> dict[str, Any]:
    return read_limits(CAUSES.module(name))


def read_limits(module: ModuleType) -> dict[str, Any]:
    """The constants of the module in capitals, in the order of the code."""
    skipped = {"EXPLAINS", "TYPE_CHECKING"}
    return {
        key: value
        for key, value in vars(module).items()
        if key.isupper() and not key.startswith("_") and key not in skipped and isinstance(value, int | float | str | tuple)
    }


def read_limit_notes(module: ModuleType) -> dict[str, str]:
    """What the comment beside a constant says of it."""
    source = inspect.getsource(module)
    lines = source.splitlines()
    notes = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            after = lines[(node.end_lineno or node.lineno) - 1].encode()[node.end_col_offset :].decode()
            note = re.match(r"\s*#\s*(.*)", after)
            notes[node.targets[0].id] = note[1].strip() if note and not note[1].startswith(("noqa", "type:", "fmt:")) else ""
    return notes


def read_sections(name: str) -> dict[str, str]:
    return parse_sections(CAUSES.page(name), HEADINGS)


def parse_sections(docstring: str, headings: tuple[str, ...]) -> dict[str, str]:
    """Heading to text. The docstring's first line stands under ''."""
    result: dict[str, list[str]] = {"": []}
    current = ""
    for line in docstring.splitlines():
        if line.strip() in headings:
            current = line.strip()
            result[current] = []
        elif not (set(line.strip()) == {"-"} and line.strip()):
            result[current].append(line)
    return {heading: "\n".join(lines).strip() for heading, lines in result.items()}


def build_page(name: str) -> str:
    """Markdown."""
    parts = read_sections(name)
    lines = [f"# {name}", "", parts.pop(""), ""]
    for heading, body in parts.items():
        lines += [f"## {heading}", "", body, ""]
    lines += build_limits_table(CAUSES.module(name), list_limits(name))
    follows = tuple(getattr(CAUSES.module(name), "EXPLAINS", ()))
    if follows:
        lines += [
            "## Explains",
            "",
            "Where this is found, these follow from it: " + ", ".join(f"`{other}`" for other in follows) + ".",
            "",
        ]
    return "\n".join(lines)


def build_limits_table(module: ModuleType, known: dict[str, Any]) -> list[str]:
    """Markdown, with the comments of the code; nothing where there is no limit."""
    notes = read_limit_notes(module)
    rows = [f"| `{key}` | {_shown(value)} | {notes.get(key, '')} |" for key, value in known.items()]
    return ["## Limits", "", "| limit | value | meaning |", "| --- | --- | --- |", *rows, ""] if rows else []


def _shown(value: Any) -> str:
    return (
        ", ".join(str(item) for item in value)
        if isinstance(value, tuple)
        else f"{value:,}"
        if isinstance(value, int | float)
        else str(value)
    )


def build_page_as_plain(name: str) -> dict[str, Any]:
    parts = read_sections(name)
    return {"cause": name, "summary": parts.pop(""), "sections": parts, "limits": list_limits(name)}


def list_summaries() -> dict[str, str]:
    return CAUSES.summaries()
