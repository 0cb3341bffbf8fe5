"""Say what changed between two runs, and which change explains the rest: unstall compare A B

A is the older run, B the newer: names from `unstall runs`, beginnings of one, run folders or `last`. With one run alone, it is
compared with the last good run before it of the same script or settings. Each difference stands with what it explains of
memory, time and loss; what nothing explains is said. Of two runs of `unstall train` memory is planned, with one change at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from unstall.cli import json_option, write_answer
from unstall.config.command import Command

if TYPE_CHECKING:
    from unstall.journal.run_folder import RunFolder


@click.command("compare", cls=Command, help=__doc__)
@click.argument("run_a", metavar="A")
@click.argument("run_b", required=False, metavar="[B]")
@click.option("--html", metavar="PATH", help="Write a page, with the curves over each other.")
@click.option("--quick", is_flag=True, help="Plan nothing: memory by arithmetic over what was recorded.")
@json_option("the comparison")
def command(run_a: str, run_b: str | None, html: str | None, quick: bool, json_target: str | None) -> None:
    from unstall.base.console import show_progress
    from unstall.compare import comparison
    from unstall.compare.attribution import memory
    from unstall.compare.record.store import load_record
    from unstall.planning.memory.client import announce_questions
    from unstall.report import json
    from unstall.report.html import compare_page
    from unstall.report.terminal import compare
    from unstall.storage import resolve_path

    json.refuse_unwritable(json_target)
    older, newer = _both(run_a, run_b)
    for each in (older, newer):
        _refuse_of_nothing(each)
    before, after = load_record(older), load_record(newer)
    with show_progress() as progress:
        plan = memory.create_planner(before, after, announce_questions(progress))
        plain = comparison.compare_as_plain(before, after) if quick else comparison.compare_as_plain(before, after, plan)
    if html is not None:
        compare_page.write(plain, resolve_path(html))
    write_answer(plain, json_target, compare.show)
    if html is not None and json_target != "-":
        click.echo(html)


def _refuse_of_nothing(run: RunFolder) -> None:
    """Everything that the other run has would differ."""
    from unstall.base.errors import InvalidInputError
    from unstall.board.rows import read_row

    row = read_row(run)
    why = "it has only begun" if row["state"] == "starting" else row["note"] if row["state"] == "unknown" else None
    if why:
        raise InvalidInputError(f"Nothing can be compared with the run '{run.name}': {why}. Expected a run that was journalled.")


def _both(run_a: str, run_b: str | None) -> tuple[RunFolder, RunFolder]:
    from unstall.base.errors import RunNotFoundError
    from unstall.compare.last_good import find_last_good_like
    from unstall.storage import run_lookup

    first = run_lookup.find(run_a)
    if run_b is not None:
        return first, run_lookup.find(run_b)
    good = find_last_good_like(first)
    if good is None:
        raise RunNotFoundError(
            f"There is no good run before '{first.name}' of the same script or settings to compare it with. "
            "Expected two runs: unstall compare A B"
        )
    return good, first
