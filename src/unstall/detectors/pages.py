"""The page of a family of detectors: its docstring, its settings with their meaning, and where its variants differ."""

from __future__ import annotations

from typing import Any

from unstall.config.detectors import FAMILIES, changed_settings, families, family_settings


def summaries() -> dict[str, str]:
    return FAMILIES.summaries()


def page(family: str) -> str:
    """Markdown."""
    lines = [f"# {family}", "", FAMILIES.page(family), "", "## Variants", ""]
    for variant in families()[family]:
        said = ", ".join(f"`{name}` {_in_cell(value)}" for name, value in changed_settings(variant).items())
        lines.append(f"* `{variant}`: {said}." if said else f"* `{variant}`: the settings below.")
    lines += ["", "## Settings", "", f'`build("{families()[family][0]}", classes=3, …)` changes them.', ""]
    lines += ["| setting | type | value | meaning |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{each.name}` | `{_in_text(each.kind)}` | `{_in_cell(each.default)}` | {_in_text(each.meaning)} |"
        for each in family_settings(family)
    ]
    return "\n".join(lines)


def _in_cell(value: Any) -> str:
    return _in_text(repr(value))


def _in_text(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
