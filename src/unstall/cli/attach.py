"""Look at a running process and say why it is stuck: unstall attach PID

No restart and no cooperation of the process are needed; the verdict comes within 5 seconds.

Exit code: 10 when a cause was found, 0 when nothing is wrong in what could be seen, 11 when it cannot be told.
"""

from __future__ import annotations

import sys

import click

from unstall.cli import json_option
from unstall.config.command import Command


@click.command("attach", cls=Command, help=__doc__)
@click.argument("pid")
@click.option("--dump", is_flag=True, help="Print the whole stack of every thread, too. --json always has them.")
@json_option("the story")
def command(pid: str, dump: bool, json_target: str | None) -> None:
    from unstall.base.console import create_console
    from unstall.base.errors import InvalidInputError
    from unstall.base.formatting import clean_text
    from unstall.report import json
    from unstall.report.story.outcome import EXIT_CODES
    from unstall.report.story.threads import dump_lines
    from unstall.report.terminal import story as story_text
    from unstall.supervisor.attach.snapshot import attach

    if not pid.isdecimal():
        raise InvalidInputError(f"Expected the number of a running process, as `ps` shows it. Received: '{pid}'.")
    story = attach(int(pid))
    if json_target:
        json.write(story, json_target)
    if json_target != "-":
        story_text.show(story, create_console())
        if dump:
            click.echo("\n".join(dump_lines(clean_text(story["stacks"]), clean_text(story["threads"]))))
    sys.exit(EXIT_CODES[story["outcome"]])
