"""The remedies. A remedy is a file of this folder: its name is what it does, its docstring the page.

Each has `TREATS` (the faults, each with the turn in which it is tried of those that treat the same), `SAFETY`,
`UNDO_IF_INEFFECTIVE` (whether settings are set back when it did not help and another remedy has its turn) and
`plan(found) -> Plan | None`, a pure function; None: it cannot help here, or not again.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any

from unstall.remedies.plan import Kind

SHARED = frozenset({"plan"})  # modules of this folder that are no remedies
HEADINGS = ("What it changes", "What it costs", "How we see that it helped", "How to undo it")


@cache
def remedy_names() -> tuple[str, ...]:
    return tuple(sorted(info.name for info in pkgutil.iter_modules(__path__) if info.name not in SHARED))


@cache
def remedy_module(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


def remedies_for(kind: Kind) -> list[ModuleType]:
    """Those that treat such a fault, in the order of their turns."""
    modules = [remedy_module(name) for name in remedy_names()]
    return sorted(
        (module for module in modules if kind in module.TREATS), key=lambda module: (module.TREATS[kind], module.__name__)
    )


# --- pages ---


def sections(name: str) -> dict[str, str]:
    """Heading to text. The docstring's first line stands under ''."""
    from unstall.diagnosis.pages import sections_of

    return sections_of(inspect.cleandoc(remedy_module(name).__doc__ or ""), HEADINGS)


def summaries() -> dict[str, str]:
    return {name: sections(name)[""].partition("\n")[0] for name in remedy_names()}


def page(name: str) -> str:
    """Markdown."""
    from unstall.diagnosis.pages import limits_of, limits_table

    module, parts = remedy_module(name), sections(name)
    treats = ", ".join(f"`{kind.value}`" for kind in module.TREATS)
    lines = [f"# {name}", "", parts.pop(""), "", f"Treats: {treats}. Safety: **{module.SAFETY.value}**.", ""]
    for heading, body in parts.items():
        lines += [f"## {heading}", "", body, ""]
    return "\n".join([*lines, *limits_table(module, _limits(limits_of(module)))])


def page_as_plain(name: str) -> dict[str, Any]:
    from unstall.diagnosis.pages import limits_of

    module, parts = remedy_module(name), sections(name)
    return {
        "remedy": name,
        "summary": parts.pop(""),
        "treats": [kind.value for kind in module.TREATS],
        "safety": module.SAFETY.value,
        "sections": parts,
        "limits": _limits(limits_of(module)),
    }


def _limits(constants: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in constants.items() if name not in {"TREATS", "SAFETY", "UNDO_IF_INEFFECTIVE"}}
