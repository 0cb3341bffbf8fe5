"""A run by its name, wherever it lies: on the disk, in a bucket, on another machine that keeps its runs in one."""

from __future__ import annotations

import sys
from pathlib import Path

from unstall.base.errors import BucketError, RunNotFoundError
from unstall.journal.run_folder import BUCKET, RunFolder, get_bucket_home, get_home, list_runs, refuse_unreadable

MAX_NAMED = 5  # runs, in the message that several are meant


def find(name: str) -> RunFolder:
    """A run by path, by name, by the beginning of a name, or `last`; one in a bucket by its place there. InvalidInputError where
    it, or the folder that holds the runs, cannot be read."""
    found = _find(name)
    refuse_unreadable(found.path)
    return found


def _find(name: str) -> RunFolder:
    if BUCKET.fullmatch(name):
        from unstall.storage.download import fetch_run

        return fetch_run(name)
    as_path = Path(name)
    is_place = "/" in name or name in {".", ".."}
    if is_place:
        refuse_unreadable(as_path)
    if is_place and as_path.is_dir():
        if not any(as_path.glob("events-*.jsonl")):
            raise RunNotFoundError(f"'{name}' is no run folder: it holds no journal (events-*.jsonl).")
        return RunFolder(as_path.resolve())
    refuse_unreadable(get_home(), "folder of the runs")
    runs = list_runs()
    if get_bucket_home() and not any(run.name == name for run in runs):
        runs = _with_those_of_other_machines(runs)
    if name == "last" and runs:
        return _brought(runs[-1])
    matches = [run for run in runs if run.name == name] or [run for run in runs if run.name.startswith(name)]
    if not matches and any(as_path.glob("events-*.jsonl")):  # a folder here, as `unstall train --out r1` prints it
        return RunFolder(as_path.resolve())
    if len(matches) == 1:
        return _brought(matches[0])
    if len(matches) > 1:
        shown = matches[-MAX_NAMED:]
        latest = f", the latest {len(shown)} of them" if len(shown) < len(matches) else ""
        names = ", ".join(run.name for run in shown)
        raise RunNotFoundError(f"'{name}' begins {len(matches)} runs{latest}: {names}. Give more of the name.")
    where = get_bucket_home() or get_home()
    if not runs:
        raise RunNotFoundError(f"There is no run '{name}', nor any other in {where}. Start one: unstall run -- python train.py")
    recent = ", ".join(run.name for run in runs[-3:])
    raise RunNotFoundError(
        f"No run '{name}'. Expected a name from `unstall runs`, a run folder or 'last'. Latest runs in {where}: {recent}."
    )


def _with_those_of_other_machines(runs: list[RunFolder]) -> list[RunFolder]:
    """That lie in the bucket in which runs are kept; on the disk there need be nothing of them yet."""
    from unstall.storage.download import run_names

    try:
        names = run_names(get_bucket_home())
    except BucketError as error:
        if not runs:
            raise
        sys.stderr.write(f"unstall: {error} Only the runs on this disk are looked at.\n")
        return runs
    others = set(names) - {run.name for run in runs}
    return sorted([*runs, *(RunFolder(get_home() / name) for name in others)], key=lambda run: run.name)


def _brought(run: RunFolder) -> RunFolder:
    """As the bucket has it now, where it is one of another machine."""
    if not get_bucket_home():
        return run
    from unstall.storage.download import fetch_run, is_copy

    is_of_this_machine = run.path.exists() and not is_copy(run)
    return run if is_of_this_machine else fetch_run(f"{get_bucket_home()}/{run.name}")
