"""Say again what was wrong with a run, or with several workers together: unstall diagnose RUN…

RUN is a name from `unstall runs`, the beginning of one, a run folder, or a folder that holds several, also in a bucket (gs://,
s3://); without it, the last run.
Several runs that are workers of one training (the same coordinator or addresses, at the same time) are read together: where
each of them is, who holds the others, and what only shows among them. A run that belongs to none of the others is told by itself.

Exit code: 10 when a cause was found, 0 when nothing is wrong in what could be seen, 11 when it cannot be told.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from unstall.cli import json_option
from unstall.config.command import Command

if TYPE_CHECKING:
    from unstall.diagnosis.workers.blocker import Blockage
    from unstall.diagnosis.workers.follower import WorkersFollower
    from unstall.diagnosis.workers.members import RunGroup
    from unstall.journal.run_folder import RunFolder


@click.command("diagnose", cls=Command, help=__doc__)
@click.argument("run", nargs=-1, metavar="[RUN]...")
@click.option(
    "--follow",
    is_flag=True,
    help="Of one folder, also in a bucket: go on looking, and say who holds the others as soon as one does.",
)
@json_option("the story")
def command(run: tuple[str, ...], follow: bool, json_target: str | None) -> None:
    from unstall.base.errors import InvalidInputError
    from unstall.diagnosis.workers.reader import find_runs
    from unstall.storage import is_bucket

    if follow:
        if len(run) != 1 or not (is_bucket(run[0]) or Path(run[0]).is_dir()):
            raise InvalidInputError(f"--follow: expected one folder that holds the runs. Received: {' '.join(run) or 'none'}")
        _follow(run[0], json_target)
        return
    runs = find_runs(run or ("last",))
    if len(runs) == 1 and not _holds_several(runs[0]):
        _diagnose_one(runs[0], json_target)
    else:
        _diagnose_together(runs, json_target)


def _holds_several(run: RunFolder) -> bool:
    from unstall.diagnosis.workers.reader import list_members, list_probe_journals, list_worker_folders

    may = len(list_probe_journals(run)) > 1 or bool(list_worker_folders(run))
    return may and len(list_members(run)) > 1


def _diagnose_one(run: RunFolder, json_target: str | None) -> None:
    from unstall.cli import write_answer
    from unstall.report.terminal import story as story_text

    plain = _story_of(run)
    write_answer(plain, json_target, lambda story, out: story_text.show(story, out, summary=True))
    _leave([plain])


def _leave(stories: list[dict[str, Any]]) -> NoReturn:
    from unstall.report.story.outcome import EXIT_CODES, find_worst

    sys.exit(EXIT_CODES[find_worst([story["outcome"] for story in stories])])


def _story_of(run: RunFolder) -> dict[str, Any]:
    from unstall.diagnosis.findings import diagnose
    from unstall.journal.reader import read_folder
    from unstall.report.story.run import build_story

    journal = read_folder(run.path)
    return build_story(journal, diagnose(journal), run.name)


def _diagnose_together(runs: list[RunFolder], json_target: str | None) -> None:
    from unstall.base.console import show_progress
    from unstall.cli import write_answer
    from unstall.diagnosis.workers.follower import READ_WHOLE_UP_TO, find_run_groups
    from unstall.diagnosis.workers.members import group_members
    from unstall.diagnosis.workers.reader import read_members
    from unstall.report.story.workers import build_workers_story

    folders = {run.path.parent for run in runs}
    if len(runs) > READ_WHOLE_UP_TO and len(folders) == 1:
        run_groups, alone = find_run_groups(folders.pop())
        why = "it belongs to none of the others, and the runs here are many: unstall diagnose RUN"
        rows = [build_workers_story(run_group) for run_group in run_groups]
        write_answer(
            {"run_groups": rows, "ungrouped": [{"run": name, "why": why, "story": None} for name in alone]},
            json_target,
            _show,
        )
        _leave(rows)
    with show_progress() as progress:
        together = group_members(read_members(runs, progress))
    by_name = {run.name: run for run in runs}
    ungrouped: list[dict[str, Any]] = [
        {"run": each.member.run, "why": each.why, "story": _story_of(by_name[each.member.run.partition("/")[0]])}
        for each in together.ungrouped
    ]
    rows = [build_workers_story(run_group) for run_group in together.run_groups]
    write_answer({"run_groups": rows, "ungrouped": ungrouped}, json_target, _show)
    _leave([*rows, *(each["story"] for each in ungrouped)])


def _show(plain: dict[str, Any], out: Any) -> None:
    from unstall.report.terminal import story as story_text
    from unstall.report.terminal.runs import show_workers

    for story in plain["run_groups"]:
        show_workers(story, out)
        out.print()
    silent = [each for each in plain["ungrouped"] if each["story"] is None]
    if silent:
        out.print(
            f"{len(silent):,} runs are not told here: each belongs to none of the others. One of them: unstall diagnose RUN"
        )
    for each in plain["ungrouped"]:
        if each["story"] is None:
            continue
        out.print(f"{each['run']}: told by itself, as {each['why']}.", markup=False, soft_wrap=True)
        story_text.show(each["story"], out)
        out.print()


def _follow(folder: str, json_target: str | None) -> None:
    from unstall.base.console import show_progress
    from unstall.cli import write_answer
    from unstall.diagnosis.workers.follower import follow, follow_bucket
    from unstall.report.story.workers import build_workers_story
    from unstall.storage import is_bucket

    rows: list[dict[str, Any]] = []

    def show_blockage(run_group: RunGroup, blockage: Blockage) -> None:
        rows.append(build_workers_story(run_group, blockage))
        if json_target != "-":
            write_answer({"run_groups": rows[-1:], "ungrouped": []}, json_target, _show)

    with show_progress() as progress:

        def see(follower: WorkersFollower) -> None:
            if progress is not None:
                progress(
                    "workers that stand still",
                    sum(each.stall is not None for each in follower.snapshots),
                    len(follower.snapshots),
                )

        try:
            if is_bucket(folder):
                follow_bucket(folder, show_blockage, see, lambda line: click.echo(f"unstall: {line}", err=True))
            else:
                follow(Path(folder), show_blockage, see)
            nobody = "" if rows else "; none was seen to hold the others"
            click.echo(f"unstall: all runs in {folder} have ended{nobody}.", err=True)
        except KeyboardInterrupt:
            pass  # whoever follows has seen enough
    if json_target:
        write_answer({"run_groups": rows, "ungrouped": []}, json_target, lambda plain, out: None)
    _leave(rows)
