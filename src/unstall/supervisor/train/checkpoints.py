"""The checkpoints of a run as the supervisor sees them: folders named by their step. What is in them is the worker's affair."""

from __future__ import annotations

import re
from pathlib import Path

from unstall.base.private_files import make_private_folder
from unstall.journal.run_folder import RunFolder

SET_ASIDE = "checkpoints-set-aside"
_NAME = re.compile(r"step-(\d+)")


def steps(run: RunFolder) -> list[int]:
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
