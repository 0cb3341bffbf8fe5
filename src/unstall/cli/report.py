"""Write a run as one page that needs nothing else: unstall report RUN

RUN is a name from `unstall runs`, the beginning of one, or a run folder; without it, the last run. A run that still goes on is
shown as far as it has come. At the end of `unstall run` the page is written by itself.
"""

from __future__ import annotations

import click

from unstall.cli import json_option
from unstall.config.command import Command


@click.command("report", cls=Command, help=__doc__)
@click.argument("run", default="last", metavar="[RUN]")
@click.option("--out", metavar="PATH", help="Where to write it; else report.html in the run folder.")
@click.option("--open", "is_to_open", is_flag=True, help="Open it in the browser.")
@click.option("--tensorboard", metavar="FOLDER", help="Write its plots as scalars, too: tensorboard --logdir FOLDER")
@json_option("the same story")
def command(run: str, out: str | None, is_to_open: bool, tensorboard: str | None, json_target: str | None) -> None:
    from unstall.base.console import create_console, show_progress
    from unstall.report import json
    from unstall.report.html import page
    from unstall.report.story.report import read_whole
    from unstall.storage import resolve_path, run_lookup

    folder = run_lookup.find(run)
    with show_progress() as progress:
        story = read_whole(folder, progress)
    target = resolve_path(out) if out else folder.report_path
    page.write_run(story, target, is_private=not out)
    if json_target:
        json.write({**story, "report": str(target)}, json_target)
    if tensorboard is not None:
        from unstall.training.tensorboard import write

        write(story, resolve_path(tensorboard))
    if json_target != "-":
        create_console().print(str(target), markup=False, soft_wrap=True)
    if is_to_open:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())
