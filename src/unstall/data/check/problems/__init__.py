"""One file per defect. The folder is the registry: a new file is a new problem."""

from __future__ import annotations

from typing import Any

from unstall.base.registry import Registry
from unstall.diagnosis.pages import build_limits_table, parse_sections, read_limits

PROBLEMS = Registry(__name__, "problem", listing="`unstall data problems` lists all {count}.")


# --- pages ---


HEADINGS = ("What it is", "What it does to a training", "How we know", "When this is wrong", "What to do")


def read_sections(name: str) -> dict[str, str]:
    """Heading to text. The docstring's first line stands under ''."""
    return parse_sections(PROBLEMS.page(name), HEADINGS)


def list_summaries() -> dict[str, str]:
    return PROBLEMS.summaries()


def build_page(name: str) -> str:
    """Markdown."""
    module = PROBLEMS.module(name)
    parts = read_sections(name)
    corrected = (
        "`unstall data check --fix` can correct it." if hasattr(module, "propose_fixes") else "It is not corrected by `--fix`."
    )
    lines = [f"# {name}", "", parts.pop(""), "", f"Severity: **{module.SEVERITY.value}**. {corrected}", ""]
    for heading, body in parts.items():
        lines += [f"## {heading}", "", body, ""]
    return "\n".join([*lines, *build_limits_table(module, read_limits(module))])


def build_page_as_plain(name: str) -> dict[str, Any]:
    module = PROBLEMS.module(name)
    parts = read_sections(name)
    return {
        "problem": name,
        "summary": parts.pop(""),
        "severity": module.SEVERITY.value,
        "is_fixable": hasattr(module, "propose_fixes"),
        "sections": parts,
        "limits": {key: value for key, value in read_limits(module).items() if key != "SEVERITY"},
    }
