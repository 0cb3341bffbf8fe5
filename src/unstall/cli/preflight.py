"""Say whether a training would run, before it does: unstall preflight --data PATH --model NAME

Takes the settings of `unstall train`. Looks at cores, memory and its limits, the accelerator and who is on it, the disk,
packages, variables and paths, the data, the weights, the memory that a step needs, the speed of the storage, and makes a few
steps at the learning rate. Ends with 1 where something refuses.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from unstall.cli import answer, json_option
from unstall.settings_options import ByGroups, setting_options


@click.command("preflight", cls=ByGroups, help=__doc__)
@click.option("--out", metavar="FOLDER", help="Where the run would be kept.")
@click.option("--quick", is_flag=True, help="Only what `unstall train` looks at before it begins: seconds.")
@json_option("the answers")
@setting_options
def command(out: str | None, quick: bool, json_target: str | None, config: str | None, no_config: bool, **settings: Any) -> None:
    from unstall import runs
    from unstall.preflight.preflight import preflight
    from unstall.report import json
    from unstall.report.preflight_text import show_preflight
    from unstall.report.progress import shown_progress
    from unstall.settings_options import config_used, given
    from unstall.settings_sources import resolve

    json.refuse_unwritable(json_target)
    wanted = resolve(given(settings), config_used(config, no_config)).settings
    with shown_progress() as progress:
        plain = preflight(wanted, runs.folder_for(out) if out else runs.home(), quick, progress)
    answer(plain, json_target, show_preflight)
    if plain["answer"] == "refuses":
        sys.exit(1)
