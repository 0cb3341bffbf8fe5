"""Watch a program from its start: unstall run -- python train.py

Output, input, signals and the exit code are the program's own; no change to its code is needed. A verdict appears on
standard error when there is one, and a short summary at the end.
"""

from __future__ import annotations

import sys

import click


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}, help=__doc__)
@click.option("--quiet", is_flag=True, help="Print nothing; the run folder and --json have it all.")
@click.option(
    "--on-stall",
    type=click.Choice(["report", "stop"]),
    default="report",
    show_default=True,
    help="What to do when it is stuck.",
)
@click.option("--confirm", is_flag=True, help="Afterwards, confirm the verdicts by experiments in a run of their own.")
@click.option(
    "--read-output/--no-read-output",
    "reads_output",
    default=True,
    help="Read progress and losses in what it prints, without a change to it. UNSTALL_READ_OUTPUT=0 switches this off, too.",
)
@click.option("--board", is_flag=True, help="Show it live in the browser, as `unstall board` does.")
@click.option(
    "--json",
    "json_target",
    metavar="PATH",
    help="Write the story as JSON when a verdict is reached, after each change, and at the end. '-' is standard output, only at"
    " the end.",
)
@click.argument("command_line", nargs=-1, type=click.UNPROCESSED, required=True, metavar="-- COMMAND...")
def command(
    quiet: bool,
    on_stall: str,
    confirm: bool,
    reads_output: bool,
    board: bool,
    json_target: str | None,
    command_line: tuple[str, ...],
) -> None:
    from unstall.supervisor.run.program import RunOptions, supervise

    options = RunOptions(
        quiet=quiet,
        stop_on_stall=on_stall == "stop",
        json_target=json_target,
        confirm=confirm,
        board=board,
        reads_output=reads_output,
    )
    sys.exit(supervise(list(command_line), options))
