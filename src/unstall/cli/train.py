"""Train a detector: unstall train --data PATH --model NAME

With nothing else it trains a tiny detector on embedded pictures of shapes, in minutes on two cores. What harms a run on its
way (memory, NaN, hangs, kills) is repaired, and the run goes on from its last checkpoint; --resume goes on with one that was
ended.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from unstall.cli import write_answer
from unstall.config.options import GroupedCommand, add_setting_options

if TYPE_CHECKING:
    from unstall.config.settings import Settings
    from unstall.journal.run_folder import RunFolder
    from unstall.supervisor.train.setup import TrainRequest

AUTO = "auto"  # --resume without a name


@click.command("train", cls=GroupedCommand, help=__doc__)
@click.option(
    "--resume", metavar="[RUN]", is_flag=False, flag_value=AUTO,
    help="Continue this run: a name from `unstall runs`, a folder, or 'last'. Without a name, or with 'auto', continue the run in"
    " --out if there is one, else start it: for engines that restart a job.",
)  # fmt: skip
@click.option("--out", metavar="FOLDER", help="Keep the run there, rather than in the state directory.")
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True,
    help="Who starts the workers: this command, or the Ray cluster that this machine belongs to.",
)  # fmt: skip
@click.option("--no-repair", is_flag=True, help="End at the first fault, with its cause.")
@click.option("--dry-run", is_flag=True, help="Only look whether it would run, as `unstall preflight` does.")
@click.option("--force", is_flag=True, help="Begin although the preflight found an error.")
@click.option("--board", is_flag=True, help="Show it live in the browser, as `unstall board` does.")
@click.option("--list-models", is_flag=True, help="List the detectors.")
@click.option("--show-settings", is_flag=True, help="Print the settings, and where each came from.")
@click.option(
    "--json",
    "json_target",
    metavar="PATH",
    help="Write how it went as JSON when a verdict is reached, after each change, and at the end. '-' is standard output, only at"
    " the end, and nothing else is printed there.",
)
@add_setting_options
def command(
    resume: str | None,
    out: str | None,
    engine: str,
    no_repair: bool,
    dry_run: bool,
    force: bool,
    board: bool,
    list_models: bool,
    show_settings: bool,
    json_target: str | None,
    config: str | None,
    no_config: bool,
    **settings: Any,
) -> None:
    """The steps of a training from top to bottom, each with the file that takes it."""
    from unstall.config.options import collect_explicit_settings
    from unstall.report import json
    from unstall.supervisor.train import setup
    from unstall.training.checkpoint.integrity import refuse_unresumable

    json.refuse_unwritable(json_target)
    if list_models:
        return _print_models(json_target)
    # What is asked for: `supervisor/train/setup.py`, of the options that were typed.
    typed = {**collect_explicit_settings(settings), **({"max_restarts": 0} if no_repair else {})}
    request = setup.read_request(typed, config, no_config, out, None if resume == AUTO else resume, resume == AUTO)
    # Where it runs: on the machines of a Ray cluster, as one of several, or here.
    if engine == "ray" and not (show_settings or dry_run):
        return _start_on_ray(request, json_target)
    if request.worker_number is not None:
        sys.exit(_train(setup.join_other_machine(request, request.worker_number), {}, json_target, board))
    # The run to go on with, if any, and the settings: `config/sources.py` joins defaults, recipe, settings file and options.
    request = setup.find_run(request)
    run, resolved = setup.load_settings(request)
    if show_settings:
        return _print_settings(resolved.as_plain(), json_target)
    if run is not None:
        refuse_unresumable(run)
    # The checks: `planning/preflight/runner.py`. A new run folder: `journal/run_folder.py`.
    checked = _run_preflight(resolved.settings, run, request.out, is_quick=not dry_run, json_target=json_target)
    if dry_run or (checked["status"] == "error" and not force):
        sys.exit(_end_before_start(checked, dry_run, json_target))
    run = setup.create_run(resolved.settings, run, request.out, checked)
    # The training: `supervisor/train/training_run.py` starts the worker, watches it, and treats what goes wrong. The worker is
    # `training/loop/worker.py`, its loop `training/loop/trainer.py`, and `training/loop/results.py` saves the weights.
    sys.exit(_train(run, checked, json_target, board))


def _start_on_ray(request: TrainRequest, json_target: str | None) -> None:
    """Every worker of Ray's runs this command again, as one of several: here it is only put together."""
    from unstall.report import json
    from unstall.training.distributed.engines import ray

    plain = ray.start(request.options, request.config, request.out, request.resume)
    if json_target:
        json.write(plain, json_target)


def _run_preflight(
    settings: Settings, run: RunFolder | None, out: str | None, is_quick: bool, json_target: str | None
) -> dict[str, Any]:
    """The table goes to standard error, with all that is said on the way; what a dry run was asked for, to standard output."""
    from unstall.base.console import create_console, show_progress
    from unstall.journal import run_folder
    from unstall.planning.preflight.runner import preflight
    from unstall.report.terminal.planning import show_preflight

    folder = run.path if run is not None else run_folder.name_folder(out) if out else run_folder.get_home()
    with show_progress() as progress:
        plain = preflight(settings, folder, is_quick, progress)
    if is_quick or json_target != "-":
        show_preflight(plain, create_console("stderr" if is_quick else "stdout"))
    return plain


def _end_before_start(checked: dict[str, Any], dry_run: bool, json_target: str | None) -> int:
    """The exit code of a run that was not begun."""
    from unstall.report import json

    if not dry_run:
        click.echo("unstall: it was not begun. --force begins it all the same.", err=True)
    if json_target:
        json.write(checked, json_target)
    return 1 if checked["status"] == "error" else 0


def _train(run: RunFolder, found: dict[str, Any], json_target: str | None, board: bool) -> int:
    from unstall.report import json
    from unstall.report.story.report import describe_training
    from unstall.supervisor.run.program import RunOptions
    from unstall.supervisor.train.training_run import WORKER, train

    code = train(run, RunOptions(board=board), (*WORKER, "--quiet") if json_target == "-" else WORKER)
    if json_target:
        json.write(describe_training(run, code, found), json_target)
    return code


def _print_models(json_target: str | None) -> None:
    from unstall.detectors import list_models
    from unstall.report.terminal.settings import show_models

    plain = list_models()
    write_answer(plain, json_target, show_models)


def _print_settings(plain: dict[str, Any], json_target: str | None) -> None:
    from unstall.report.terminal.settings import show_settings

    write_answer(plain, json_target, show_settings)
