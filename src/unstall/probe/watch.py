"""`with unstall.watch() as run: for batch in run.steps(dataset): …`: one's own loop, watched from another process."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Optional, TypeVar

from unstall.journal import run_folder
from unstall.probe.core import probe
from unstall.probe.core.step_counter import as_number
from unstall.probe.core.user_code import find_user_place
from unstall.probe.fit import interrupts
from unstall.probe.guard import start_watching

T = TypeVar("T")


class WatchedRun:
    """The run of a `watch()`. `steps` counts and times the steps; `log` tells the loss, if one likes."""

    def __init__(self, run: Optional[run_folder.RunFolder]) -> None:
        self.run = run
        self._loss: Any = None

    def log(self, loss: Any = None) -> None:
        """The loss of the current step: a number or a scalar tensor. It is read about once a second."""
        self._loss = loss

    def steps(self, dataset: Iterable[T], epoch: int = 0) -> Iterator[T]:
        """Gives the batches of the data set. A step lasts from one batch to the next."""
        current = probe.get_current()
        if current is None:
            yield from dataset
            return
        shield = current.shield
        shield.call("watch", current.fit_began, None, "watch", "", None, None, find_user_place(2))
        shield.call("watch", current.epoch_began, epoch)
        try:
            source = iter(dataset)
            while True:
                began = shield.call("watch", current.input_began)
                try:
                    batch = next(source)
                except StopIteration:
                    return
                shield.call("watch", current.input_ended, began or time.monotonic())
                shield.call("watch", current.step_began)
                yield batch
                shield.call("watch", current.step_ended, None, None, lambda: (as_number(self._loss), 0))
        finally:
            shield.call("watch", current.fit_ended)


class watch:  # noqa: N801 - used as `with unstall.watch()`
    """Watches this program from another process while the block runs, and after it."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet

    def __enter__(self) -> WatchedRun:
        return WatchedRun(start_watching("watch", self._quiet))

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], traceback: object) -> None:
        current = probe.get_current()
        if current is not None and isinstance(error, (KeyboardInterrupt, SystemExit)):
            current.shield.call("interrupts", interrupts.report, current, error)
