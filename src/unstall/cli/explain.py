"""Print the page of a cause, a remedy, a check of the preflight or a problem of data.

It says what it is, how we know, when this is wrong and what to do.
"""

from __future__ import annotations

from typing import Any

import click

from unstall.base.dependencies import name_missing_packages
from unstall.cli import answer, json_option


@click.command("explain", help=__doc__)
@click.argument("name", metavar="NAME")
@json_option("the page")
def command(name: str, json_target: str | None) -> None:
    from unstall.base import registry

    with name_missing_packages(f"unstall explain {name}", "data"):
        plain, page = registry.page_as_plain(name), registry.page(name)

    def show(_: dict[str, Any], out: Any) -> None:
        from rich.markdown import Markdown

        from unstall.base.console import print_clean

        print_clean(out, Markdown(page))

    answer(plain, json_target, show)
