"""Say whether a training would run, before it does: unstall preflight --data PATH --model NAME

Takes the settings of `unstall train`. Looks at cores, memory and its limits, the accelerator and who is on it, the disk,
packages, variables and paths, the data, the weights, the memory that a step needs, the speed of the storage, and makes a few
steps at the learning rate. Ends with 1 where there is an error.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from unstall.cli import json_option, write_answer
from unstall.config.options import GroupedCommand, add_setting_options


@click.command("preflight", cls=GroupedCommand, help=__doc__)
@click.option("--out", metavar="FOLDER", help="Where the run would be kept.")
@click.option("--quick", is_flag=True, help="Only what `unstall train` looks at before it begins: seconds.")
@json_option("the results")
@add_setting_options
def command(out: str | None, quick: bool, json_target: str | None, config: str | None, no_config: bool, **settings: Any) -> None:
    from unstall.base.console import show_progress
    from unstall.config.options import collect_explicit_settings, find_config
    from unstall.config.sources import resolve
    from unstall.journal import run_folder
    from unstall.planning.preflight.runner import preflight
    from unstall.report import json
    from unstall.report.terminal.planning import show_preflight

    json.refuse_unwritable(json_target)
    resolved = resolve(collect_explicit_settings(settings), find_config(config, no_config)).settings
    with show_progress() as progress:
        plain = preflight(resolved, run_folder.name_folder(out) if out else run_folder.get_home(), quick, progress)
    write_answer(plain, json_target, show_preflight)
    if plain["status"] == "error":
        sys.exit(1)
