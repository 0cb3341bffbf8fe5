"""Scalars, pictures and the settings for TensorBoard. Where the disk refuses, that is said once and the training goes on."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.training.event_files import EventFile

if TYPE_CHECKING:
    from PIL.Image import Image

LARGEST_SCALAR = 3.4e38  # they are written as float32


class Board:
    def __init__(self, folder: Path, from_step: int, say: Callable[[str], None]) -> None:
        """What an earlier part of the run has written beyond `from_step` is taken back."""
        self._say = say
        self._file: EventFile | None = None
        try:
            self._file = EventFile(folder, from_step)
        except OSError as error:
            self._stop(error)

    def scalars(self, step: int, values: Mapping[str, float | None]) -> None:
        for name, value in values.items():
            if value is not None and math.isfinite(value) and abs(value) <= LARGEST_SCALAR:
                self._write(partial(EventFile.scalar, step=step, tag=name, value=value))

    def picture(self, step: int, name: str, picture: Image) -> None:
        held = io.BytesIO()
        picture.convert("RGB").save(held, "PNG")
        self._write(lambda file: file.picture(step, name, held.getvalue(), picture.width, picture.height))

    def table(self, step: int, name: str, rows: Mapping[str, Any]) -> None:
        """As text: two columns."""
        lines = [f"| {key} | {str(value).replace('|', chr(92) + '|')} |" for key, value in rows.items()]
        self._write(lambda file: file.text(step, name, "\n".join(["| name | value |", "| --- | --- |", *lines])))

    def flush(self) -> None:
        self._write(lambda file: file.flush())

    def close(self) -> None:
        self._write(lambda file: file.close())

    def _write(self, what: Callable[[EventFile], None]) -> None:
        if self._file is None:
            return
        try:
            what(self._file)
        except OSError as error:  # a full disk
            self._stop(error)

    def _stop(self, error: OSError) -> None:
        if self._file is not None:
            with suppress(OSError):  # it has still something to write, and tries it again
                self._file.close()
        self._file = None
        self._say(f"Nothing more is written for TensorBoard: {error.strerror or error}.")
