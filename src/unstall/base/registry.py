"""Whatever has a page that a terminal can show: causes, remedies, checks of the preflight, problems of data, each by its name.

Which names there are is read from the folders. What a page needs is loaded when it is printed: the problems of data need NumPy.
"""

from __future__ import annotations

import difflib
import importlib
from functools import cache
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError

PACKAGE = Path(__file__).parents[1]
# The kind: its folder, the module that has its pages, and what it is called.
KINDS = {
    "cause": ("diagnosis/causes", "unstall.diagnosis.pages", "a cause"),
    "remedy": ("remedies", "unstall.remedies", "a remedy"),
    "check": ("planning/preflight/checks", "unstall.planning.preflight.registry", "a check of the preflight"),
    "problem": ("data/check/problems", "unstall.data.check.pages", "a problem of data"),
}
SHARED = frozenset({"plan"})  # a module of such a folder that is none of its kind


@cache
def kinds() -> dict[str, str]:
    """Name to kind, of all that can be explained."""
    return {
        path.stem: kind
        for kind, (folder, _, _) in KINDS.items()
        for path in sorted((PACKAGE / folder).glob("*.py"))
        if not path.stem.startswith("_") and path.stem not in SHARED
    }


def page(name: str) -> str:
    """Markdown."""
    text: str = _pages_of(name).page(name)
    return text


def page_as_plain(name: str) -> dict[str, Any]:
    """Begins with the kind: {"cause": name, …}."""
    plain: dict[str, Any] = _pages_of(name).page_as_plain(name)
    return plain


def _pages_of(name: str) -> Any:
    known = kinds()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean '{near[0]}'? That is {KINDS[known[near[0]]][2]}." if near else ""
        lists = "`unstall causes` lists the causes, `unstall data problems` the problems of data"
        raise InvalidInputError(f"There is no cause, remedy, check or problem '{name}'.{hint} {lists}.")
    return importlib.import_module(KINDS[known[name]][1])
