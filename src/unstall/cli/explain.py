"""Print the page of a cause: what it is, how we know, when this is wrong, what to do."""

from __future__ import annotations

import click

from unstall.cli import json_option


@click.command("explain", help=__doc__)
@click.argument("cause")
@json_option("the page")
def command(cause: str, json_target: str | None) -> None:
    from unstall.diagnosis.pages import page, page_as_plain
    from unstall.report import json
    from unstall.report.text import console, print_clean

    if json_target:
        json.write(page_as_plain(cause), json_target)
    if json_target != "-":
        from rich.markdown import Markdown

        print_clean(console(), Markdown(page(cause)))
