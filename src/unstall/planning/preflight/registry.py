"""Which checks there are, in which order they are asked, and their pages."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from unstall.diagnosis.pages import limits_of, limits_table, sections_of
from unstall.planning.preflight import checks

HEADINGS = ("What is looked at", "Why it matters", "When this is wrong", "What to do")
OF_THE_ORDER = ("NEEDS", "AFTER", "IS_QUICK")
FOLDER = Path(checks.__path__[0])


@cache
def check_names() -> tuple[str, ...]:
    """In the order in which they are asked: each after those that it needs, else by name."""
    left = sorted(info.name for info in pkgutil.iter_modules([str(FOLDER)]))
    ordered: list[str] = []
    while left:
        name = next((name for name in left if {*needs(name), *_named(name, "AFTER")} <= set(ordered)), None)
        if name is None:
            raise TypeError(f"{left}: expected NEEDS and AFTER that name other checks, and no circle of them.")
        ordered.append(name)
        left.remove(name)
    return tuple(ordered)


def quick_names() -> tuple[str, ...]:
    return tuple(name for name in check_names() if is_quick(name))


def is_quick(name: str) -> bool:
    return bool(_constants(name)["IS_QUICK"])


def needs(name: str) -> tuple[str, ...]:
    """Read from the source: whoever only asks loads no check."""
    return _named(name, "NEEDS")


def _named(name: str, constant: str) -> tuple[str, ...]:
    return tuple(_constants(name).get(constant, ()))


def check_module(name: str) -> ModuleType:
    return importlib.import_module(f"{checks.__name__}.{name}")


@cache
def _constants(name: str) -> dict[str, Any]:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    return {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name) and target.id in OF_THE_ORDER
    }


# --- pages ---


def docstring(name: str) -> str:
    return inspect.cleandoc(ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))) or "")


def sections(name: str) -> dict[str, str]:
    return sections_of(docstring(name), HEADINGS)


def summaries() -> dict[str, str]:
    return {name: docstring(name).partition("\n")[0] for name in check_names()}


def page(name: str) -> str:
    """Markdown."""
    parts = sections(name)
    asked = "Asked by `unstall train`, too." if is_quick(name) else "Asked by `unstall preflight` only."
    lines = [f"# {name}", "", parts.pop(""), "", asked, ""]
    for heading, body in parts.items():
        lines += [f"## {heading}", "", body, ""]
    return "\n".join([*lines, *limits_table(check_module(name), limits(name))])


def page_as_plain(name: str) -> dict[str, Any]:
    parts = sections(name)
    return {"check": name, "summary": parts.pop(""), "is_quick": is_quick(name), "sections": parts, "limits": limits(name)}


def limits(name: str) -> dict[str, Any]:
    return {key: value for key, value in limits_of(check_module(name)).items() if key not in OF_THE_ORDER}
