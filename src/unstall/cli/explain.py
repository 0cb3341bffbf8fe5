"""Print the page of a cause, a remedy, a check of the preflight or a problem of data.

It says what it is, how we know, when this is wrong and what to do.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import click

from unstall.base.errors import InvalidInputError, name_missing_packages
from unstall.base.formatting import find_closest_name
from unstall.base.registry import Registry
from unstall.cli import json_option, write_answer
from unstall.config.command import Command
from unstall.data.check.problems import PROBLEMS
from unstall.diagnosis.causes import CAUSES
from unstall.planning.preflight.checks import CHECKS
from unstall.remedies import REMEDIES


class Kind(NamedTuple):
    """Entries that have a page which a terminal can show."""

    registry: Registry
    # The module with `build_page` and `build_page_as_plain`, loaded when a page is printed: the problems of data need NumPy.
    pages: str
    description: str


KINDS = {
    "cause": Kind(CAUSES, "unstall.diagnosis.pages", "a cause"),
    "remedy": Kind(REMEDIES, "unstall.remedies", "a remedy"),
    "check": Kind(CHECKS, "unstall.planning.preflight.checks", "a check of the preflight"),
    "problem": Kind(PROBLEMS, "unstall.data.check.problems", "a problem of data"),
}


@click.command("explain", cls=Command, help=__doc__)
@click.argument("name", metavar="NAME")
@json_option("the page")
def command(name: str, json_target: str | None) -> None:
    with name_missing_packages(f"unstall explain {name}", "data"):
        plain, page = read_page_as_plain(name), read_page(name)

    def show(_: dict[str, Any], out: Any) -> None:
        from rich.markdown import Markdown

        from unstall.base.console import print_clean

        print_clean(out, Markdown(page))

    write_answer(plain, json_target, show)


@cache
def list_kinds() -> dict[str, str]:
    """Name to kind, of all that can be explained."""
    return {name: kind for kind, each in KINDS.items() for name in each.registry.names()}


def read_page(name: str) -> str:
    """Markdown."""
    text: str = _pages_of(name).build_page(name)
    return text


def read_page_as_plain(name: str) -> dict[str, Any]:
    """Begins with the kind: {"cause": name, …}."""
    plain: dict[str, Any] = _pages_of(name).build_page_as_plain(name)
    return plain


def _pages_of(name: str) -> Any:
    known = list_kinds()
    if name not in known:
        near = find_closest_name(name, known)
        hint = f" Did you mean '{near}'? That is {KINDS[known[near]].description}." if near else ""
        lists = "`unstall causes` lists the causes, `unstall data problems` the problems of data"
        raise InvalidInputError(f"There is no cause, remedy, check or problem '{name}'.{hint} {lists}.")
    return import_module(KINDS[known[name]].pages)
