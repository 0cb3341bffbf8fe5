"""List the runs that were watched."""

from __future__ import annotations

import click

from unstall.cli import json_option


@click.command("runs", help=__doc__)
@json_option("the list")
def command(json_target: str | None) -> None:
    from unstall import runs
    from unstall.report import json
    from unstall.report.runs import rows, show

    listed = rows(runs.list_runs())
    if json_target:
        json.write({"runs": listed}, json_target)
    if json_target != "-":
        show(listed)
