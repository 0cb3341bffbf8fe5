"""Say again what was wrong with a run, from its journal: unstall diagnose RUN

RUN is a name from `unstall runs`, the beginning of one, or a run folder; without it, the last run.
"""

from __future__ import annotations

import click

from unstall.cli import json_option


@click.command("diagnose", help=__doc__)
@click.argument("run", default="last", metavar="[RUN]")
@json_option("the story")
def command(run: str, json_target: str | None) -> None:
    from unstall import runs
    from unstall.diagnosis.diagnose import diagnose
    from unstall.journal.reader import read_folder
    from unstall.report import json, text
    from unstall.report.story import tell

    folder = runs.find(run)
    journal = read_folder(folder.path)
    story = tell(journal, diagnose(journal), folder.name)
    if json_target:
        json.write(story, json_target)
    if json_target != "-":
        text.show(story, text.console(), summary=True)
