"""The remedies. A remedy is a file of this folder: its name is what it does, its docstring the page.

Each has `TREATS` (the faults, each with the turn in which it is tried of those that treat the same), `SAFETY`,
`UNDO_IF_INEFFECTIVE` (whether settings are set back when it did not help and another remedy has its turn) and
`plan(found) -> Plan | None`, a pure function; None: it cannot help here, or not again.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from unstall.base.registry import Registry
from unstall.remedies.plan import Kind

REMEDIES = Registry(__name__, "remedy", exclude=("plan",))
HEADINGS = ("What it changes", "What it costs", "How we see that it helped", "How to undo it")


def find_remedies(kind: Kind) -> list[ModuleType]:
    """Those that treat such a fault, in the order of their turns."""
    modules = [REMEDIES.module(name) for name in REMEDIES.names()]
    return sorted(
        (module for module in modules if kind in module.TREATS), key=lambda module: (module.TREATS[kind], module.__name__)
    )


# --- pages ---


def read_sections(name: str) -> dict[str, str]:
    """Heading to text. The docstring's first line stands under ''."""
    from unstall.diagnosis.pages import parse_sections

    return parse_sections(REMEDIES.page(name), HEADINGS)


def list_summaries() -> dict[str, str]:
    return REMEDIES.summaries()


def build_page(name: str) -> str:
    """Markdown."""
    from unstall.diagnosis.pages import build_limits_table, read_limits

    module, parts = REMEDIES.module(name), read_sections(name)
    treats = ", ".join(f"`{kind.value}`" for kind in module.TREATS)
    lines = [f"# {name}", "", parts.pop(""), "", f"Treats: {treats}. Safety: **{module.SAFETY.value}**.", ""]
    for heading, body in parts.items():
        lines += [f"## {heading}", "", body, ""]
    return "\n".join([*lines, *build_limits_table(module, _limits(read_limits(module)))])


def build_page_as_plain(name: str) -> dict[str, Any]:
    from unstall.diagnosis.pages import read_limits

    module, parts = REMEDIES.module(name), read_sections(name)
    return {
        "remedy": name,
        "summary": parts.pop(""),
        "treats": [kind.value for kind in module.TREATS],
        "safety": module.SAFETY.value,
        "sections": parts,
        "limits": _limits(read_limits(module)),
    }


def _limits(constants: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in constants.items() if name not in {"TREATS", "SAFETY", "UNDO_IF_INEFFECTIVE"}}
