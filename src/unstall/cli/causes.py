"""List the causes that Unstall can name."""

from __future__ import annotations

import click

from unstall.cli import json_option
from unstall.config.command import Command


@click.command("causes", cls=Command, help=__doc__)
@json_option("the list")
def command(json_target: str | None) -> None:
    from unstall.base.console import create_console, print_clean
    from unstall.diagnosis.pages import list_summaries
    from unstall.report import json

    listed = list_summaries()
    if json_target:
        json.write({"causes": [{"cause": name, "summary": summary} for name, summary in listed.items()]}, json_target)
    if json_target != "-":
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        for name, summary in listed.items():
            table.add_row(f"[cyan]{name}[/cyan]", summary)
        print_clean(create_console(), table)
