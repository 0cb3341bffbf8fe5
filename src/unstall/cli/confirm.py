"""Confirm or refute a run's verdicts by experiments: unstall confirm RUN

The program is started again for this alone: when its first fit is about to begin, the experiments are made on a few of its
batches instead, and it ends there. What the program does before fit, it does again; nothing after fit is run.

The command and its folder are taken from the run's journal. They are shown, and you are asked before they are used; --yes answers
for a script. A run of another user, one that others can write to, and one that was copied from a bucket or recorded on another
machine, or on one that its journal does not name, are refused: whoever wrote them would choose what is started here.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

import click

from unstall.cli import json_option
from unstall.config.command import Command

EXPERIMENTS = ("replay_batch", "overfit_batch", "zero_input", "scaled_input", "missing_gradients", "learning_rate")


@click.command("confirm", cls=Command, help=__doc__)
@click.argument("run", default="last")
@click.option(
    "--experiment", "experiments", multiple=True, type=click.Choice(EXPERIMENTS), help="Make this one, whatever the verdicts are."
)
@click.option("--yes", is_flag=True, help="Start the command of the run without asking.")
@json_option("the story")
def command(run: str, experiments: tuple[str, ...], yes: bool, json_target: str | None) -> None:
    from unstall.base.console import create_console
    from unstall.report import json
    from unstall.report.terminal import story as story_text
    from unstall.report.terminal.repairs import as_plain, show_experiments
    from unstall.storage import run_lookup
    from unstall.supervisor.run.confirm import confirm

    results, story = confirm(run_lookup.find(run), experiments, agree=_show if yes else _ask)
    if json_target:
        json.write({**story, "experiments": [as_plain(event) for event in results]}, json_target)
    if json_target != "-":
        out = create_console()
        show_experiments(results, out)
        story_text.show(story, out)


def _show(command_line: Sequence[str], folder: str) -> None:
    """With signs that a terminal would not show written out: what is read is what is started."""
    click.echo(f"command  {_printable(shlex.join(command_line))}\nfolder   {_printable(folder)}", err=True)


def _ask(command_line: Sequence[str], folder: str) -> None:
    """Returns if somebody agrees; where nobody can be asked, it is a mistake."""
    from unstall.base.errors import InvalidInputError

    click.echo("The experiments start this program of the run again:", err=True)
    _show(command_line, folder)
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInputError(
            "There is nobody to ask: standard input is no terminal. Expected --yes if this command is to be started."
        )
    click.confirm("Start it?", abort=True, err=True)


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
