"""Scalars and pictures for TensorBoard, through tensorboardX.

It writes the files that TensorBoard reads with nothing but NumPy and protobuf, so the same on each backend; TensorFlow's writer
would need TensorFlow, and PyTorch's needs PyTorch and the whole of TensorBoard. Where it is missing, that is said once and the
training goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

INSTALL = "pip install 'unstall[tensorboard]'"


class Board:
    def __init__(self, folder: Path, from_step: int, say: Callable[[str], None]) -> None:
        """What an earlier part of the run has written beyond `from_step` is taken back."""
        self._say = say
        self._writer: Any = None
        try:
            from tensorboardX import SummaryWriter

            self._writer = SummaryWriter(str(folder), purge_step=from_step + 1 if from_step else None)
        except ModuleNotFoundError:
            say(f"Nothing is written for TensorBoard: it needs the package tensorboardX. Install: {INSTALL}")
        except OSError as error:
            self._stop(error)

    def scalars(self, step: int, values: Mapping[str, float | None]) -> None:
        for name, value in values.items():
            if value is not None and math.isfinite(value):
                self._write("add_scalar", name, value, step)

    def picture(self, step: int, name: str, picture: Any) -> None:
        """RGB, as Pillow has it."""
        self._write("add_image", name, np.asarray(picture), step, dataformats="HWC")

    def flush(self) -> None:
        self._write("flush")

    def close(self) -> None:
        self._write("close")

    def _write(self, method: str, *arguments: Any, **named: Any) -> None:
        if self._writer is None:
            return
        try:
            getattr(self._writer, method)(*arguments, **named)
        except OSError as error:  # a full disk
            self._stop(error)

    def _stop(self, error: OSError) -> None:
        self._writer = None
        self._say(f"Nothing more is written for TensorBoard: {error.strerror or error}.")
