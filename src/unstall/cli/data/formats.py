"""List the formats that can be read and written, or print the page of one."""

from __future__ import annotations

import click

from unstall.cli import json_option
from unstall.config.command import Command


@click.command("formats", cls=Command, help=__doc__)
@click.argument("name", required=False, metavar="[FORMAT]")
@json_option("it")
def command(name: str | None, json_target: str | None) -> None:
    from unstall.base.console import create_console, print_clean
    from unstall.data import formats
    from unstall.report import json

    if name is not None:
        formats.FORMATS.refuse_unknown(name)
    listed = formats.list_summaries()
    if json_target:
        pages = {"format": name, "page": formats.build_page(name)} if name else {}
        json.write(pages or {"formats": [{"format": key, "summary": line} for key, line in listed.items()]}, json_target)
    if json_target == "-":
        return
    from rich.markdown import Markdown
    from rich.table import Table

    if name:
        print_clean(create_console(), Markdown(formats.build_page(name)))
        return
    table = Table.grid(padding=(0, 2))
    for key, line in listed.items():
        table.add_row(f"[cyan]{key}[/cyan]", line)
    print_clean(create_console(), table)
