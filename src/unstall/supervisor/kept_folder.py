"""A run folder that somebody deletes while the run goes on is made again, with what a resume needs; the journals come back by
themselves as soon as it is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unstall.private_files import make_private_folder, write_private
from unstall.runs import KEPT_IN, RunFolder


class KeptFolder:
    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._files = {path: read for path in (run.settings_given_path, run.path / KEPT_IN) if (read := _read(path)) is not None}
        self._is_tried = False
        self.of_workers: list[Path] = []

    def brought_back(self, settings: dict[str, Any]) -> bool:
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
