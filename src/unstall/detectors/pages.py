"""The page of a family of detectors: its docstring, its settings with the comments of the code, and where its variants differ.

Read from the source, without importing it: a page needs no framework.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import NamedTuple

from unstall.detectors import FOLDER, families, family_of


class Setting(NamedTuple):
    name: str
    kind: str
    default: str
    meaning: str


@cache
def _tree(family: str) -> tuple[ast.Module, list[str]]:
    source = (FOLDER / f"{family}.py").read_text(encoding="utf-8")
    return ast.parse(source), source.splitlines()


def docstring(family: str) -> str:
    return ast.get_docstring(_tree(family)[0]) or ""


def summaries() -> dict[str, str]:
    return {family: docstring(family).partition("\n")[0] for family in families()}


def settings(family: str) -> list[Setting]:
    """Of the dataclass whose name ends with `Settings`."""
    tree, lines = _tree(family)
    (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.endswith("Settings"))
    fields = [node for node in found.body if isinstance(node, ast.AnnAssign)]
    return [
        Setting(
            ast.unparse(node.target),
            ast.unparse(node.annotation),
            ast.unparse(node.value) if node.value is not None else "",
            lines[(node.end_lineno or node.lineno) - 1].partition("  # ")[2],
        )
        for node in fields
    ]


def differences(family: str) -> dict[str, dict[str, str]]:
    """Each variant, and the settings in which it differs from the defaults, as the code has them."""
    tree, _ = _tree(family)
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and target.id == "VARIANTS" and isinstance(value, ast.Dict):
            return {
                key.value: _keywords(made)
                for key, made in zip(value.keys, value.values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            }
    return {}


def image_px(variant: str) -> tuple[int, int]:
    """Height and width that it sees, if nobody says otherwise."""
    family = family_of(variant)
    usual = next(each.default for each in settings(family) if each.name == "image_px")
    height, width = ast.literal_eval(differences(family)[variant].get("image_px", usual))
    return height, width


def _keywords(made: ast.expr) -> dict[str, str]:
    keywords = made.keywords if isinstance(made, ast.Call) else []
    return {keyword.arg or "**": ast.unparse(keyword.value) for keyword in keywords}


def page(family: str) -> str:
    """Markdown."""
    lines = [f"# {family}", "", docstring(family), "", "## Variants", ""]
    for variant, changed in differences(family).items():
        said = ", ".join(f"`{name}` {_in_cell(value)}" for name, value in changed.items())
        lines.append(f"* `{variant}`: {said}." if said else f"* `{variant}`: the settings below.")
    lines += ["", "## Settings", "", f'`build("{families()[family][0]}", classes=3, …)` changes them.', ""]
    lines += ["| setting | type | value | meaning |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{each.name}` | `{_in_cell(each.kind)}` | `{_in_cell(each.default)}` | {_in_cell(each.meaning)} |"
        for each in settings(family)
    ]
    return "\n".join(lines)


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
