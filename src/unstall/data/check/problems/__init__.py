"""One file per defect. The folder is the registry: a new file is a new problem."""

from __future__ import annotations

from typing import Any

from unstall.base.registry import Registry
from unstall.diagnosis.pages import limits_of, limits_table, sections_of

PROBLEMS = Registry(__name__, "problem", listing="`unstall data problems` lists all {count}.")


# --- pages ---


HEADINGS = ("What it is", "What it does to a training", "How we know", "When this is wrong", "What to do")


def sections(name: str) -> dict[str, str]:
    """Heading to text. The docstring's first line stands under ''."""
    return sections_of(PROBLEMS.page(name), HEADINGS)


def summaries() -> dict[str, str]:
    return PROBLEMS.summaries()


def page(name: str) -> str:
    """Markdown."""
    module = PROBLEMS.module(name)
    parts = sections(name)
    corrected = (
        "`unstall data check --fix` can correct it." if hasattr(module, "propose_fixes") else "It is not corrected by `--fix`."
    )
    lines = [f"# {name}", "", parts.pop(""), "", f"Severity: **{module.SEVERITY.value}**. {corrected}", ""]
    for heading, body in parts.items():
        lines += [f"## {heading}", "", body, ""]
    return "\n".join([*lines, *limits_table(module, limits_of(module))])


def page_as_plain(name: str) -> dict[str, Any]:
    module = PROBLEMS.module(name)
    parts = sections(name)
    return {
        "problem": name,
        "summary": parts.pop(""),
        "severity": module.SEVERITY.value,
        "is_fixable": hasattr(module, "propose_fixes"),
        "sections": parts,
        "limits": {key: value for key, value in limits_of(module).items() if key != "SEVERITY"},
    }
