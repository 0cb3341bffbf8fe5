"""Train a detector: unstall train --data PATH --model NAME

With nothing else it trains a tiny detector on embedded pictures of shapes, in minutes on two cores. What harms a run on its
way (memory, NaN, hangs, kills) is repaired, and the run goes on from its last checkpoint; --resume goes on with one that was
ended.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from unstall.cli import answer
from unstall.config.options import GroupedCommand, setting_options

if TYPE_CHECKING:
    from unstall.config.settings import Settings
    from unstall.config.sources import ResolvedSettings
    from unstall.journal.run_folder import RunFolder

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
@setting_options
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
    """Read from top to bottom: what is asked for, where it runs, its settings, the checks, the run."""
    from unstall.report import json
    from unstall.training.checkpoint.integrity import refuse_unresumable

    json.refuse_unwritable(json_target)
    if list_models:
        return _print_models(json_target)
    request = _read_request(settings, config, no_config, out, resume, no_repair)
    if engine == "ray" and not (show_settings or dry_run):
        return _start_on_ray(request, json_target)
    if request.worker_number is not None:
        sys.exit(_train(_join_run(request, request.worker_number), {}, json_target, board))
    request = _find_run(request)
    run, resolved = _load_settings(request)
    if show_settings:
        return _print_settings(resolved.as_plain(), json_target)
    if run is not None:
        refuse_unresumable(run)
    checked = _run_preflight(resolved.settings, run, request.out, is_quick=not dry_run, json_target=json_target)
    if dry_run or (checked["status"] == "error" and not force):
        sys.exit(_end_before_start(checked, dry_run, json_target))
    run = _create_run(resolved.settings, run, request.out, checked)
    sys.exit(_train(run, checked, json_target, board))


@dataclass(frozen=True)
class _Request:
    """What was asked for, by options, the settings file and the engine that started this process."""

    options: dict[str, Any]  # settings that were given as options
    config: str | None
    out: str | None
    resume: str | None
    is_auto: bool  # resume the run in `out`, or start it
    worker_number: int | None  # of a worker that joins the run of another machine


def _read_request(
    settings: dict[str, Any], config: str | None, no_config: bool, out: str | None, resume: str | None, no_repair: bool
) -> _Request:
    from unstall.config.options import given
    from unstall.storage.urls import spell_out
    from unstall.training.distributed import engines

    options = given(settings)
    if (said := engines.workers_said(os.environ)) is not None:
        wanted, is_given = options.get("num_workers", said), "num_workers" in options
        options["num_workers"] = engines.agree_on_workers(os.environ, wanted, is_given=is_given)
    if no_repair:
        options["max_restarts"] = 0
    out, resume, is_auto = spell_out(out), spell_out(None if resume == AUTO else resume), resume == AUTO
    config = _config(config, no_config, resume, out if is_auto else None)
    return _Request(options, config, out, resume, is_auto, engines.secondary_worker(os.environ))


def _join_run(request: _Request, worker_number: int) -> RunFolder:
    from unstall.config.sources import resolve
    from unstall.supervisor.train import setup

    return setup.join_run(resolve(request.options, request.config).settings, request.out or request.resume, worker_number)


def _find_run(request: _Request) -> _Request:
    """Whether the run is there already. The same command begins a run and goes on with it: what was begun has its settings."""
    from unstall.base.errors import InvalidInputError
    from unstall.supervisor.train.setup import holds_run, refuse_contradiction

    if request.is_auto:
        if request.out is None:
            raise InvalidInputError("--resume: expected the name of a run, 'last', or --out, which says where the run is.")
        if holds_run(request.out):
            request = replace(request, resume=request.out, out=None, config=None)
        else:
            request = replace(request, resume=None)
    refuse_contradiction(request.resume, request.out, request.config)
    return request


def _end_before_start(checked: dict[str, Any], dry_run: bool, json_target: str | None) -> int:
    """The exit code of a run that was not begun."""
    from unstall.report import json

    if not dry_run:
        click.echo("unstall: it was not begun. --force begins it all the same.", err=True)
    if json_target:
        json.write(checked, json_target)
    return 1 if checked["status"] == "error" else 0


def _create_run(settings: Settings, run: RunFolder | None, out: str | None, checked: dict[str, Any]) -> RunFolder:
    from unstall.supervisor.train.setup import begin, keep_defects, read_planned_changes

    run = begin(settings, run, out, read_planned_changes(checked))
    keep_defects(run, checked)
    return run


def _config(config: str | None, no_config: bool, resume: str | None, may_be_there: str | None) -> str | None:
    """The settings file. A run that goes on has its settings: a file that lies here is not taken for it."""
    from unstall.config.options import config_used, is_config_here
    from unstall.config.toml_file import CONFIG
    from unstall.supervisor.train.setup import holds_run

    if resume is None and (may_be_there is None or not holds_run(may_be_there)):
        return config_used(config, no_config)
    if config is None and not no_config and is_config_here():
        click.echo(f"./{CONFIG} is not used: a run that is resumed keeps its own settings.", err=True)
    return config


def _load_settings(request: _Request) -> tuple[RunFolder | None, ResolvedSettings]:
    """Of a new run, or of one that goes on, with its folder."""
    from unstall.config.aliases import note_of_run
    from unstall.config.sources import ResolvedSettings, resolve
    from unstall.supervisor.train.setup import load_resumed, sources_of

    if request.resume is None:
        return None, resolve(request.options, request.config)
    run, wanted = load_resumed(request.resume, request.options)
    if note := note_of_run(run.read_settings(), str(run.settings_path)):
        click.echo(note, err=True)
    given = {name: f"--{name.replace('_', '-')}" for name in request.options}
    return run, ResolvedSettings(wanted, {**sources_of(run, wanted), **given})


def _start_on_ray(request: _Request, json_target: str | None) -> None:
    """Every worker of Ray's runs this command again, as one of several: here it is only put together."""
    from unstall.base.errors import InvalidInputError
    from unstall.config.options import arguments, chosen
    from unstall.config.sources import resolve
    from unstall.journal.run_folder import folder_for
    from unstall.report import json
    from unstall.storage import is_bucket
    from unstall.training.distributed.engines import ray

    if request.out is None or request.resume is not None:
        raise InvalidInputError(
            "--engine ray: expected together with --out, a place that every node can reach, and without --resume."
        )
    resolved = resolve(request.options, request.config)
    place = request.out if is_bucket(request.out) else str(folder_for(request.out).absolute())
    ray.train(["--no-config", *arguments(chosen(resolved))], resolved.settings.num_workers, place)
    if json_target:
        json.write({"engine": "ray", "num_workers": resolved.settings.num_workers, "out": place}, json_target)


def _train(run: RunFolder, found: dict[str, Any], json_target: str | None, board: bool) -> int:
    from unstall.report import json
    from unstall.report.story.report import describe_training
    from unstall.supervisor.run.program import RunOptions
    from unstall.supervisor.train.training_run import WORKER, train

    code = train(run, RunOptions(board=board), (*WORKER, "--quiet") if json_target == "-" else WORKER)
    if json_target:
        json.write(describe_training(run, code, found), json_target)
    return code


def _run_preflight(
    settings: Settings, run: RunFolder | None, out: str | None, is_quick: bool, json_target: str | None
) -> dict[str, Any]:
    """The table goes to standard error, with all that is said on the way; what a dry run was asked for, to standard output."""
    from unstall.base.console import console
    from unstall.base.progress import show_progress
    from unstall.journal import run_folder
    from unstall.planning.preflight.runner import preflight
    from unstall.report.terminal.planning import show_preflight

    folder = run.path if run is not None else run_folder.folder_for(out) if out else run_folder.home()
    with show_progress() as progress:
        plain = preflight(settings, folder, is_quick, progress)
    if is_quick or json_target != "-":
        show_preflight(plain, console("stderr" if is_quick else "stdout"))
    return plain


def _print_models(json_target: str | None) -> None:
    from unstall.detectors.catalog import models
    from unstall.report.terminal.settings import show_models

    plain = models()
    answer(plain, json_target, show_models)


def _print_settings(plain: dict[str, Any], json_target: str | None) -> None:
    from unstall.report.terminal.settings import show_settings

    answer(plain, json_target, show_settings)
