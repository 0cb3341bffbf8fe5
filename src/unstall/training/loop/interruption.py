"""SIGTERM and Ctrl-C: the step is finished, a checkpoint written, and the process ends in order, all within seconds.

Python calls a signal's handler between two of its own instructions only, and a compilation is one that may take a minute. So a
thread listens too: where nothing is unsaved it ends the process itself, and so it does when the time is up. A second Ctrl-C ends
it at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from unstall.base.exit_codes import INTERRUPTED
from unstall.base.processes import end_if_orphaned

SIGNALS = (signal.SIGTERM, signal.SIGINT)
PATIENCE_S = 8.0  # then the process ends with the checkpoint that there is; whoever asked may kill it after 10
PARTS_WITHIN_S = 4.0  # of several workers, which end together
LAST_WAIT_S = 1.0  # of that, or beyond it, for other workers to end before this one
NATIVE_S = 1.0  # for Python to come back by itself, where it may leave at any moment
LOOK_EVERY_S = 0.05


class Interrupted(BaseException):
    """Raised where nothing is half done. No Exception: nothing on the way may take it for an error of its own."""


class Interruption:
    def __init__(self) -> None:
        self.requested_at: float | None = None  # monotonic
        self._interruptible = self._exit_allowed = 0
        self._writing: int | None = None
        self.before_leaving: Callable[[float], object] = lambda seconds: None  # given so long to bring things to an end
        self.exit_last: Callable[[float], object] = lambda seconds: None  # of several workers the first waits for the others

    @property
    def is_requested(self) -> bool:
        return self.requested_at is not None

    def start_listening(self) -> None:
        """From now on, in the main thread."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, self._handle)
        self._writing = writing
        threading.Thread(target=self._listen, args=(reading,), name="unstall-signals", daemon=True).start()

    def reinstall_handlers(self) -> None:
        """In the main thread, after anything that may have put a handler of its own in our place: `jax.distributed.initialize`
        does, for SIGTERM, below Python, where it cannot be seen. Costs microseconds."""
        if self._writing is not None:
            signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
            for number in SIGNALS:
                signal.signal(number, self._handle)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Python waits in here, and nothing is half done: whoever asks need not wait, too."""
        if self.is_requested:
            raise Interrupted
        self._interruptible += 1
        try:
            yield
        finally:
            self._interruptible -= 1

    @contextmanager
    def exit_allowed(self) -> Iterator[None]:
        """Nothing is unsaved while this lasts, however long: the process may end anywhere in it."""
        with self.interruptible():
            self._exit_allowed += 1
            try:
                yield
            finally:
                self._exit_allowed -= 1

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """In the main thread."""
        self.requested_at = self.requested_at or time.monotonic()
        if self._interruptible:
            raise Interrupted

    def _listen(self, reading: int) -> None:
        """In a thread of its own: the number of each signal comes as a byte, even while native code runs."""
        interrupts = 0
        while True:
            number = os.read(reading, 1)[0]
            interrupts += number == signal.SIGINT
            if interrupts > 1:
                os._exit(128 + signal.SIGINT)
            if number == signal.SIGCONT:
                end_if_orphaned()
            if number in SIGNALS and self.requested_at is None:
                self.requested_at = time.monotonic()
            if number in SIGNALS:
                threading.Thread(target=self._end_in_time, name="unstall-ending", daemon=True).start()

    def _end_in_time(self) -> None:
        """Only if the main thread does not."""
        assert self.requested_at is not None
        while (waited := time.monotonic() - self.requested_at) < PATIENCE_S:
            if self._exit_allowed and waited > NATIVE_S:
                break
            time.sleep(LOOK_EVERY_S)
        self.before_leaving(max(0.0, PATIENCE_S - waited))
        waited = time.monotonic() - self.requested_at
        self.exit_last(max(LAST_WAIT_S, min(PARTS_WITHIN_S, PATIENCE_S - waited)))
        sys.stderr.flush()
        os._exit(INTERRUPTED)
