"""One file per check. The docstring is the page; `look(context) -> CheckResult`.

`NEEDS` names checks that come before; where one of them refuses or does not know, this one does not know either. `AFTER` only
orders. `IS_QUICK` says whether `unstall train` asks it, too, before it begins: then it takes seconds at most.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from unstall.base.registry import Registry
from unstall.diagnosis.pages import build_limits_table, parse_sections, read_limits

CHECKS = Registry(__name__, "check")


HEADINGS = ("What is looked at", "Why it matters", "When this is wrong", "What to do")
OF_THE_ORDER = ("NEEDS", "AFTER", "IS_QUICK")


@cache
def check_names() -> tuple[str, ...]:
    """In the order in which they are asked: each after those that it needs, else by name."""
    left = list(CHECKS.names())
    ordered: list[str] = []
    while left:
        name = next((name for name in left if {*list_needs(name), *_after(name)} <= set(ordered)), None)
        if name is None:
            raise TypeError(f"{left}: expected NEEDS and AFTER that name other checks, and no circle of them.")
        ordered.append(name)
        left.remove(name)
    return tuple(ordered)


def list_quick_names() -> tuple[str, ...]:
    return tuple(name for name in check_names() if is_quick(name))


def is_quick(name: str) -> bool:
    return bool(CHECKS.module(name).IS_QUICK)


def list_needs(name: str) -> tuple[str, ...]:
    return tuple(CHECKS.module(name).NEEDS)


def _after(name: str) -> tuple[str, ...]:
    return tuple(getattr(CHECKS.module(name), "AFTER", ()))


# --- pages ---


def read_sections(name: str) -> dict[str, str]:
    return parse_sections(CHECKS.page(name), HEADINGS)


def list_summaries() -> dict[str, str]:
    return {name: CHECKS.summary(name) for name in check_names()}


def build_page(name: str) -> str:
    """Markdown."""
    parts = read_sections(name)
    asked = "Asked by `unstall train`, too." if is_quick(name) else "Asked by `unstall preflight` only."
    lines = [f"# {name}", "", parts.pop(""), "", asked, ""]
    for heading, body in parts.items():
        lines += [f"## {heading}", "", body, ""]
    return "\n".join([*lines, *build_limits_table(CHECKS.module(name), list_limits(name))])


def build_page_as_plain(name: str) -> dict[str, Any]:
    parts = read_sections(name)
    return {"check": name, "summary": parts.pop(""), "is_quick": is_quick(name), "sections": parts, "limits": list_limits(name)}


def list_limits(name: str) -> dict[str, Any]:
    return {key: value for key, value in read_limits(CHECKS.module(name)).items() if key not in OF_THE_ORDER}
