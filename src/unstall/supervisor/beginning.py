"""Where a training begins or goes on: its run folder, with the settings in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unstall import runs
from unstall.errors import NotPermitted, WrongInput
from unstall.runs import RunFolder
from unstall.settings import Settings, as_plain, from_plain
from unstall.settings_sources import going_on


def refuse_contradiction(resume: str | None, out: str | None, config: str | None) -> None:
    """At once, before anything is looked at."""
    if resume is None:
        if out is not None:
            _refuse_taken(out)
        return
    for name, value in (("--out", out), ("--config", config)):
        if value is not None:
            raise WrongInput(f"{name}: a run that goes on has its folder and its settings. Expected --resume without {name}.")


def going_on_with(name: str, options: Mapping[str, Any]) -> tuple[RunFolder, Settings]:
    """A run that was begun by `unstall train`, and its settings with what was asked to be other."""
    run = _found(name)
    before = from_plain(run.read_settings(), f"{run.settings_path}: ")
    return run, going_on(before, options)


def _found(name: str) -> RunFolder:
    """A folder that holds settings is a run, even where its journal was lost. `last` is the last that `unstall train` began."""
    folder = Path(name)
    if RunFolder(folder).settings_path.is_file():
        return RunFolder(folder.resolve())
    trained = [run for run in runs.list_runs() if run.settings_path.is_file()]
    if name == "last" and trained:
        return trained[-1]
    return runs.find(name)


def begin(settings: Settings, run: RunFolder | None, out: str | None) -> RunFolder:
    """The folder in which the next worker finds its settings."""
    plain = as_plain(settings)
    try:
        if run is None:
            run = _made(out) if out else runs.create(settings.model)
            run.write_settings(plain, are_given=True)
        run.write_settings(plain)
    except OSError as error:
        raise NotPermitted(
            f"Cannot write the run to '{out or runs.home()}': {error.strerror}. Another folder: --out FOLDER"
        ) from None
    return run


def _made(out: str) -> RunFolder:
    _refuse_taken(out)
    folder = Path(out).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return RunFolder(folder)


def _refuse_taken(out: str) -> None:
    folder = Path(out)
    if RunFolder(folder).settings_path.exists():
        raise WrongInput(f"'{out}' holds a run already. Go on with it: unstall train --resume {out}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WrongInput(f"--out: expected a folder that is empty or not there yet. Received: '{out}', which holds other things.")
