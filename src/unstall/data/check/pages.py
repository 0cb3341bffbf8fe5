"""The page of a problem: its docstring, with the limits printed from the code, so that the two cannot differ."""

from __future__ import annotations

import difflib
import inspect
from types import ModuleType
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.data.check.runner import problem_module, problem_names
from unstall.diagnosis.pages import limits_of, limits_table, sections_of

HEADINGS = ("What it is", "What it does to a training", "How we know", "When this is wrong", "What to do")


def sections(module: ModuleType) -> dict[str, str]:
    """Heading to text. The docstring's first line stands under ''."""
    return sections_of(inspect.cleandoc(module.__doc__ or ""), HEADINGS)


def refuse_unknown(name: str) -> None:
    if name not in problem_names():
        near = difflib.get_close_matches(name, problem_names(), n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise InvalidInputError(f"There is no problem '{name}'.{hint} `unstall data problems` lists all {len(problem_names())}.")


def summaries() -> dict[str, str]:
    return {name: sections(problem_module(name))[""].partition("\n")[0] for name in problem_names()}


def page(name: str) -> str:
    """Markdown."""
    module = problem_module(name)
    parts = sections(module)
    corrected = (
        "`unstall data check --fix` can correct it." if hasattr(module, "propose_fixes") else "It is not corrected by `--fix`."
    )
    lines = [f"# {name}", "", parts.pop(""), "", f"Severity: **{module.SEVERITY.value}**. {corrected}", ""]
    for heading, body in parts.items():
        lines += [f"## {heading}", "", body, ""]
    return "\n".join([*lines, *limits_table(module, limits_of(module))])


def page_as_plain(name: str) -> dict[str, Any]:
    module = problem_module(name)
    parts = sections(module)
    return {
        "problem": name,
        "summary": parts.pop(""),
        "severity": module.SEVERITY.value,
        "is_mended": hasattr(module, "propose_fixes"),
        "sections": parts,
        "limits": {key: value for key, value in limits_of(module).items() if key != "SEVERITY"},
    }
