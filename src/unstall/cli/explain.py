"""Print the page of a cause or of a remedy: what it is, how we know, when this is wrong, what to do."""

from __future__ import annotations

import click

from unstall.cli import json_option


@click.command("explain", help=__doc__)
@click.argument("name", metavar="CAUSE|REMEDY")
@json_option("the page")
def command(name: str, json_target: str | None) -> None:
    from unstall import remedies
    from unstall.diagnosis import pages
    from unstall.report import json
    from unstall.report.text import console, print_clean

    told = remedies if name in remedies.remedy_names() else pages
    if json_target:
        json.write(told.page_as_plain(name), json_target)
    if json_target != "-":
        from rich.markdown import Markdown

        print_clean(console(), Markdown(told.page(name)))
