"""Look at a running process and say why it is stuck: unstall attach PID

No restart and no cooperation of the process are needed; the verdict comes within 5 seconds.
"""

from __future__ import annotations

import click


@click.command("attach", help=__doc__)
@click.argument("pid", type=click.IntRange(min=1))
@click.option(
    "--json",
    "json_target",
    metavar="PATH",
    help="Write the story as JSON; '-' is standard output, and nothing else is printed.",
)
def command(pid: int, json_target: str | None) -> None:
    from unstall.report import json, text
    from unstall.supervisor.attach import attach

    story = attach(pid)
    if json_target:
        json.write(story, json_target)
    if json_target != "-":
        text.show(story, text.console())
