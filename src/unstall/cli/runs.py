"""List the runs, some of them, or prune them: unstall runs --state failed --since 7d

WORDS choose runs that have them in their name, command or verdict. --last-good prints the name of the last run of a script
that came to its end with nothing wrong; its training must have been seen from inside, with a finite loss. --prune removes the
runs that were chosen, once you agree: never one that goes on; with --checkpoints only what a training would resume from, and
the run stays.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import click

from unstall.cli import json_option, write_answer
from unstall.config.command import Command

STATES = "stuck failed killed idle slow interrupted repaired training running starting done ended unknown"


@click.command("runs", cls=Command, help=__doc__)
@click.argument("words", nargs=-1, metavar="[WORDS]...")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES.split()), help="Only of this state; may be repeated.")
@click.option("--script", metavar="SCRIPT", help="Only of this script, by path or name, or of this model of `unstall train`.")
@click.option("--model", metavar="NAME", help="Only trainings of this model, by its name or a part of it.")
@click.option("--since", metavar="AGE", help="Only those begun since: 30m, 12h, 7d, 2w ago, or a day, 2026-11-15.")
@click.option("--last-good", metavar="SCRIPT", help="The last run of this script that went well.")
@click.option("--prune", is_flag=True, help="Remove the runs that were chosen.")
@click.option("--older-than", metavar="AGE", help="Only those in which nothing was written since: 30d, or a day.")
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="With --prune: keep the newest N of them.")
@click.option("--checkpoints", is_flag=True, help="With --prune: remove checkpoints alone; such a run cannot be resumed.")
@click.option("--dry-run", is_flag=True, help="With --prune: only say what would go.")
@click.option("--yes", is_flag=True, help="With --prune: do not ask.")
@json_option("the list")
def command(
    words: tuple[str, ...],
    states: tuple[str, ...],
    script: str | None,
    model: str | None,
    since: str | None,
    last_good: str | None,
    prune: bool,
    older_than: str | None,
    keep: int | None,
    checkpoints: bool,
    dry_run: bool,
    yes: bool,
    json_target: str | None,
) -> None:
    from unstall.base.errors import InvalidInputError
    from unstall.board import filters
    from unstall.board.rows import read_row
    from unstall.compare.last_good import find_script_path, has_trained
    from unstall.journal import run_folder
    from unstall.report.terminal.runs import show, show_last_good

    if not prune:
        _bring_those_of_other_machines()
    run_folder.refuse_unreadable(run_folder.get_home(), "folder of the runs")
    rows = [(run, read_row(run)) for run in run_folder.list_runs()]
    paths = {run.name: find_script_path(run) for run, _ in rows} if "/" in (last_good or script or "") else {}
    if last_good is not None:
        by_name = {run.name: run for run, _ in rows}
        found = filters.find_last_good([row for _, row in rows], last_good, paths, lambda row: has_trained(by_name[row["run"]]))
        return write_answer({"last_good": found["run"], "row": _plain(found)}, json_target, show_last_good)
    began = filters.parse_moment(since, "--since") if since is not None else None
    before = filters.parse_moment(older_than, "--older-than") if older_than is not None else None
    run_filter = filters.RunFilter(states, script, model, began, before, words)
    chosen = [(run, row) for run, row in rows if run_filter.fits(row, paths.get(run.name, ""))]
    if prune:
        if run_filter.is_everything and keep is None:
            raise InvalidInputError(
                "--prune: expected which runs: --older-than 30d, --keep 20, --state failed, --script … Received: none."
            )
        return _prune(chosen, PruneOptions(keep, checkpoints, dry_run, yes), json_target)
    for name, value in (("--keep", keep), ("--checkpoints", checkpoints), ("--dry-run", dry_run), ("--yes", yes)):
        if value:
            raise InvalidInputError(f"{name} says how to prune. Expected --prune with it.")
    left_out = {"left_out": len(rows) - len(chosen)} if len(chosen) < len(rows) else {}
    listed = {"runs": [_plain(row) for _, row in chosen], **left_out}
    return write_answer(listed, json_target, show)


def _bring_those_of_other_machines() -> None:
    """Where runs are kept in a bucket. If it cannot be reached, those on the disk are listed, where there are some."""
    from unstall.base.console import show_progress
    from unstall.base.errors import BucketError
    from unstall.journal import run_folder
    from unstall.storage.download import download_runs

    try:
        with show_progress() as progress:
            download_runs(progress)
    except BucketError as error:
        if not run_folder.list_runs():
            raise
        click.echo(f"unstall: {error} Only the runs on this disk are listed.", err=True)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row of the board, with what scripts ask for first."""
    verdict = row["verdict"] or {}
    return {**row, "verdict": verdict.get("cause"), "where": verdict.get("where"), "summary": verdict.get("summary")}


@dataclass(frozen=True)
class PruneOptions:
    """To prune."""

    keep: int | None
    checkpoints: bool
    dry_run: bool
    yes: bool


def _prune(chosen: list[tuple[Any, dict[str, Any]]], how: PruneOptions, json_target: str | None) -> None:
    from unstall.base.console import create_console
    from unstall.board import prune as prune_runs
    from unstall.journal import run_folder
    from unstall.report.terminal.runs import show_runs_to_prune

    to_prune = prune_runs.select_runs_to_prune(chosen, how.keep, how.checkpoints)
    plain = {
        "pruned": [prune_runs.as_plain(each) for each in to_prune],
        "bytes": sum(each.size_bytes for each in to_prune),
        "is_dry_run": True,
    }
    if not how.dry_run and to_prune and not how.yes:
        show_runs_to_prune(plain, create_console("stderr"))
        _agreed(len(to_prune))
    if to_prune and run_folder.get_bucket_home():
        click.echo(f"unstall: what lies in {run_folder.get_bucket_home()} stays there; this is about the disk.", err=True)
    if not how.dry_run:
        gone = prune_runs.prune(to_prune, lambda line: click.echo(f"unstall: {line}", err=True))
        plain = {"pruned": gone, "bytes": sum(row["bytes"] for row in gone), "is_dry_run": False}
    write_answer(plain, json_target, show_runs_to_prune)


def _agreed(count: int) -> None:
    """Returns if somebody says so; where nobody can be asked, it is a mistake."""
    from unstall.base.errors import InvalidInputError

    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInputError(
            f"--prune would remove {count} runs, and there is nobody to ask. Expected --yes, or --dry-run to look."
        )
    click.confirm("Remove them?", abort=True, err=True)
