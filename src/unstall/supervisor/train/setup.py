"""Where a training begins or goes on: what is asked for, its settings, and its run folder."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from unstall.base.errors import AccessDeniedError, InvalidInputError, RunNotFoundError
from unstall.base.files import make_private_folder, write_private
from unstall.config.aliases import describe_renamed_in_run, update_names
from unstall.config.options import find_config, is_config_here
from unstall.config.settings import Settings, apply_changes, as_plain, from_stored
from unstall.config.sources import ResolvedSettings, resolve, resolve_resumed
from unstall.config.toml_file import CONFIG
from unstall.data.check import defects
from unstall.journal import run_folder
from unstall.journal.events import PlanMade
from unstall.journal.run_folder import BUCKET_FILE, RunFolder
from unstall.journal.writer import JournalWriter
from unstall.remedies.plan import Kind, Verb
from unstall.storage import is_bucket, resolve_path, run_lookup
from unstall.storage.urls import expand_variables
from unstall.training.distributed import engines

REMEDIES = {"precision": "use_bfloat16", "remat": "enable_remat", "micro_batch_size": "shrink_micro_batch"}


@dataclass(frozen=True)
class TrainRequest:
    """What was asked for, by options, the settings file and the engine that started this process."""

    options: dict[str, Any]  # settings that were given as options
    config: str | None
    out: str | None
    resume: str | None
    is_auto: bool  # resume the run in `out`, or start it
    worker_number: int | None  # of a worker that joins the run of another machine


def read_request(
    options: dict[str, Any], config: str | None, no_config: bool, out: str | None, resume: str | None, is_auto: bool
) -> TrainRequest:
    """`options` are the settings that were given as options. How many workers there are the engine may say, too."""
    if (said := engines.count_declared_workers(os.environ)) is not None:
        wanted, is_given = options.get("num_workers", said), "num_workers" in options
        options["num_workers"] = engines.agree_on_workers(os.environ, wanted, is_given=is_given)
    out, resume = expand_variables(out), expand_variables(resume)
    config = _find_config(config, no_config, resume, out if is_auto else None)
    return TrainRequest(options, config, out, resume, is_auto, engines.find_secondary_worker(os.environ))


def _find_config(config: str | None, no_config: bool, resume: str | None, may_be_there: str | None) -> str | None:
    """The settings file. A run that goes on has its settings: a file that lies here is not taken for it."""
    if resume is None and (may_be_there is None or not has_run(may_be_there)):
        return find_config(config, no_config)
    if config is None and not no_config and is_config_here():
        click.echo(f"./{CONFIG} is not used: a run that is resumed keeps its own settings.", err=True)
    return config


def find_run(request: TrainRequest) -> TrainRequest:
    """Whether the run is there already. The same command begins a run and goes on with it: what was begun has its settings."""
    if request.is_auto:
        if request.out is None:
            raise InvalidInputError("--resume: expected the name of a run, 'last', or --out, which says where the run is.")
        if has_run(request.out):
            request = replace(request, resume=request.out, out=None, config=None)
        else:
            request = replace(request, resume=None)
    refuse_contradiction(request.resume, request.out, request.config)
    return request


def load_settings(request: TrainRequest) -> tuple[RunFolder | None, ResolvedSettings]:
    """Of a new run, or of one that goes on, with its folder."""
    if request.resume is None:
        return None, resolve(request.options, request.config)
    run, wanted = load_resumed(request.resume, request.options)
    if note := describe_renamed_in_run(run.read_settings(), str(run.settings_path)):
        click.echo(note, err=True)
    given = {name: f"--{name.replace('_', '-')}" for name in request.options}
    return run, ResolvedSettings(wanted, {**list_sources(run, wanted), **given})


def refuse_contradiction(resume: str | None, out: str | None, config: str | None) -> None:
    """At once, before anything is looked at."""
    if resume is None:
        if out is not None:
            _refuse_taken(out)
        return
    for name, value in (("--out", out), ("--config", config)):
        if value is not None:
            raise InvalidInputError(
                f"{name}: a run that goes on has its folder and its settings. Expected --resume without {name}."
            )


def list_sources(run: RunFolder, settings: Settings) -> dict[str, str]:
    """Where the settings of a run that goes on came from: its beginning, or a repair on the way; not those that nobody set."""
    given = update_names(run.read_settings(are_given=True)) if run.settings_given_path.exists() else {}
    usual, values = as_plain(Settings()), as_plain(settings)
    of_repairs = {name: "a repair" for name, value in values.items() if name in given and value != given[name]}
    return {**{name: "the run" for name, value in values.items() if value != usual[name]}, **of_repairs}


def load_resumed(name: str, options: Mapping[str, Any]) -> tuple[RunFolder, Settings]:
    """A run that was begun by `unstall train`, and its settings with what was asked to be other."""
    run = _found(name)
    before = from_stored(run.read_settings(), f"{run.settings_path}: ")
    return run, resolve_resumed(before, options)


def _found(name: str) -> RunFolder:
    """A folder that holds settings is a run, even where its journal was lost. `last` is the last that `unstall train` began."""
    if is_bucket(name):
        from unstall.storage.download import fetch_run

        return fetch_run(name, with_checkpoint=True)
    folder = Path(name)
    run_folder.refuse_unreadable(folder)
    if RunFolder(folder).settings_path.is_file():
        return RunFolder(folder.resolve())
    readable = [run for run in run_folder.list_runs() if run_folder.explain_unreadable(run.path) is None]
    trained = [run for run in readable if run.settings_path.is_file()]
    found = trained[-1] if name == "last" and trained else run_lookup.find(name)
    return _with_checkpoint(found) if found.bucket else found


def _with_checkpoint(run: RunFolder) -> RunFolder:
    """Of a run that is kept in a bucket: another machine may have taken it further, or what is here is a copy to look at."""
    from unstall.storage.download import fetch_run

    try:
        return fetch_run(run.bucket, with_checkpoint=True)
    except RunNotFoundError:
        return run  # nothing of it has come there yet


def read_planned_changes(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the preflight's plan of memory changes, so that a step fits."""
    planned = [check for check in found["checks"] if check["check"] == "memory_plan" and check["status"] == "warning"]
    return dict(planned[0]["facts"].get("changes", {})) if planned else {}


def keep_defects(run: RunFolder, found: Mapping[str, Any]) -> None:
    """What the preflight found wrong with the data, for the page of the run. A disk that does not take it costs no training."""
    for check in found["checks"]:
        if check["check"] == "data_set" and "defects" in check["facts"]:
            try:
                defects.keep(run, check["facts"]["defects"])
            except OSError:
                return


def create_run(settings: Settings, run: RunFolder | None, out: str | None, checked: Mapping[str, Any]) -> RunFolder:
    """With what the preflight has changed so that a step fits, and what it has found wrong with the data."""
    run = begin(settings, run, out, read_planned_changes(checked))
    keep_defects(run, checked)
    return run


def begin(settings: Settings, run: RunFolder | None, out: str | None, changes: Mapping[str, Any]) -> RunFolder:
    """The folder in which the next worker finds its settings. A run that goes on keeps those that it has found to fit."""
    try:
        if run is not None:
            run.write_settings(as_plain(settings))
            return run
        run = _made(out) if out else run_folder.create(settings.model)
        run.write_settings(as_plain(settings), are_given=True)
        run.write_settings(as_plain(apply_changes(settings, changes)))
        _journal(run, settings, changes)
        _reserve(run)
    except OSError as error:
        raise AccessDeniedError(
            f"Cannot write the run to '{out or run_folder.get_home()}': {error.strerror}. Another folder: --out FOLDER"
        ) from None
    return run


def join_other_machine(request: TrainRequest, worker: int) -> RunFolder:
    return join_run(resolve(request.options, request.config).settings, request.out or request.resume, worker)


def join_run(settings: Settings, place: str | None, worker: int) -> RunFolder:
    """Of a run whose first worker is on another machine, which begins it or goes on with it there: here is only a place for this
    machine's journal. What all agree on comes from the first worker, and so does the state.

    The folder is the worker's own, in that of the run: where machines share a disk, whoever comes first must not begin the run,
    nor write into what the first worker's machine is beginning."""
    within = f"{run_folder.WORKERS}/{worker}"
    folder = run_folder.name_folder(place).absolute() if place else run_folder.create(settings.model).path
    run = RunFolder(folder / within)
    try:
        make_private_folder(run.path)
        if not run.settings_path.exists():
            run.write_settings(as_plain(settings), are_given=True)
            run.write_settings(as_plain(settings))
        if place and is_bucket(place):
            run.keep_in(f"{place.rstrip('/')}/{within}")
    except OSError as error:
        raise AccessDeniedError(f"Cannot write to '{folder}': {error.strerror}. Another folder: --out FOLDER") from None
    return run


def _reserve(run: RunFolder) -> None:
    """In the bucket, by the settings that must be new there: of two machines that begin the same run one is told so, and a bucket
    that cannot be written shows now rather than after days."""
    if not run.bucket:
        return
    from unstall.storage.bucket_path import BucketPath

    path = resolve_path(run.bucket) / run.settings_path.name
    assert isinstance(path, BucketPath)
    try:
        path.write_new(run.settings_path.read_bytes())
    except FileExistsError:
        raise InvalidInputError(
            f"'{run.bucket}' holds a run already. Go on with it: unstall train --resume {run.bucket}"
        ) from None


def _journal(run: RunFolder, settings: Settings, changes: Mapping[str, Any]) -> None:
    """Each change of the plan is a plan like those of repairs: what it changes, and how to undo it."""
    writer = JournalWriter(run.journal_path("watcher", os.getpid()))
    before = as_plain(settings)
    for name, value in changes.items():
        made = PlanMade(
            at=time.time(), remedy=REMEDIES[name], cause=Kind.DEVICE_MEMORY.value, verb=Verb.CHANGE.value, change={name: value},
            undo={name: before[name]}, why="The plan of memory says that a step as wanted would not fit.",
            happened="Memory was planned before the first step.",
        )  # fmt: skip
        writer.write(made)
    writer.close()


def _made(out: str) -> RunFolder:
    _refuse_taken(out)
    folder = run_folder.name_folder(out).absolute()
    make_private_folder(folder)
    run = RunFolder(folder)
    if is_bucket(out):
        run.keep_in(out)
    return run


def has_run(out: str) -> bool:
    """Whether a run was begun there; in a bucket, by any machine."""
    if is_bucket(out):
        return (resolve_path(out) / RunFolder(Path()).settings_path.name).is_file()
    return RunFolder(Path(out)).settings_path.exists()


def _refuse_taken(out: str) -> None:
    folder = resolve_path(out)  # refuses what cannot be a path
    if has_run(out):
        raise InvalidInputError(f"'{out}' holds a run already. Go on with it: unstall train --resume {shlex.quote(out)}")
    if folder.exists() and (not folder.is_dir() or any(each.name != run_folder.WORKERS for each in folder.iterdir())):
        raise InvalidInputError(
            f"--out: expected a folder that is empty or not there yet. Received: '{out}', which holds other things."
        )


# A run folder that somebody deletes while the run goes on is made again, with what a resume needs; the journals come back by
# themselves as soon as it is there.


class PreservedFolder:
    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._files = {
            path: read for path in (run.settings_given_path, run.path / BUCKET_FILE) if (read := _read(path)) is not None
        }
        self._is_tried = False
        self.of_workers: list[Path] = []

    def restore_if_unused(self, settings: dict[str, Any]) -> bool:
        """Whether it was gone. A disk that does not take it is tried once: nothing hangs on it while the run goes on."""
        if self._is_tried or _is_there(self._run.settings_path):
            return False
        self._is_tried = True
        try:
            for folder in (self._run.path, *self.of_workers):
                make_private_folder(folder)
            for path, text in self._files.items():
                write_private(path, text)
            self._run.write_settings(settings)
        except OSError:
            return False
        self._is_tried = False
        return True


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # a disk that does not answer has deleted nothing


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None


# The checkpoints of a run as the supervisor sees them: folders named by their step. What is in them is the worker's affair.


SET_ASIDE = "checkpoints-set-aside"
_NAME = re.compile(r"step-(\d+)")


def list_checkpoint_steps(run: RunFolder) -> list[int]:
    """Oldest first. A checkpoint is complete or absent: one that is being written has another name."""
    return sorted(step for _, step in _folders(run))


def set_aside_after(run: RunFolder, step: int) -> None:
    """The next worker takes the newest that there is: later ones are moved away, and can be moved back."""
    aside = run.path / SET_ASIDE
    for folder, at in _folders(run):
        if at > step:
            make_private_folder(aside)
            folder.rename(_free(aside / folder.name))


def _free(path: Path) -> Path:
    """The same step may be set aside twice, by two repairs."""
    number = 2
    free = path
    while free.exists():
        free = path.with_name(f"{path.name}-{number}")
        number += 1
    return free


def _folders(run: RunFolder) -> list[tuple[Path, int]]:
    try:
        entries = list(run.checkpoints_path.iterdir())
    except OSError:
        return []
    return [(entry, int(match[1])) for entry in entries if (match := _NAME.fullmatch(entry.name)) and entry.is_dir()]
