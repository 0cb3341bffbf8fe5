"""List the defects that `unstall data check` can find, or print the page of one."""

from __future__ import annotations

import click

from unstall.cli import json_option
from unstall.config.command import Command


@click.command("problems", cls=Command, help=__doc__)
@click.argument("name", required=False, metavar="[PROBLEM]")
@json_option("it")
def command(name: str | None, json_target: str | None) -> None:
    from unstall.base.console import create_console, print_clean
    from unstall.data.check import problems
    from unstall.data.check.problems import PROBLEMS
    from unstall.data.check.runner import get_severity
    from unstall.report import json
    from unstall.report.terminal.data import COLOUR

    if name is not None:
        PROBLEMS.refuse_unknown(name)
    listed = problems.list_summaries()
    if json_target:
        rows = [{"problem": key, "severity": get_severity(key).value, "summary": line} for key, line in listed.items()]
        json.write({"problem": name, "page": problems.build_page(name)} if name else {"problems": rows}, json_target)
    if json_target == "-":
        return
    from rich.markdown import Markdown
    from rich.table import Table

    if name:
        print_clean(create_console(), Markdown(problems.build_page(name)))
        return
    table = Table.grid(padding=(0, 2))
    for key, line in listed.items():
        severity = get_severity(key).value
        table.add_row(f"[{COLOUR[severity]}]{severity}[/]", key, line)
    print_clean(create_console(), table)
