"""List the runs that were watched."""

from __future__ import annotations

import click


@click.command("runs", help=__doc__)
@click.option(
    "--json",
    "json_target",
    metavar="PATH",
    help="Write the list as JSON; '-' is standard output, and nothing else is printed.",
)
def command(json_target: str | None) -> None:
    from unstall import runs
    from unstall.report import json
    from unstall.report.runs import rows, show

    listed = rows(runs.list_runs())
    if json_target:
        json.write({"runs": listed}, json_target)
    if json_target != "-":
        show(listed)
