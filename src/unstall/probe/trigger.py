"""Waits, at next to no cost, for a reason to switch the probe on: `unstall run` starts many processes that never train.

A reason is the import of a framework, an error that ends the program, or a signal that it sends. Until then nothing of
Unstall but this file, and two that it needs, is loaded, and nothing else that Python has not loaded by itself: the program may
have a file of that name, and would not get it. A forked child is left alone.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # that of Python itself, from which `signal` takes its functions when the program imports it
import os
import sys

from unstall.probe.core.stdlib_imports import OwnImports
from unstall.probe.core.tracebacks import hide_own_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Optional

FRAMEWORKS = ("tensorflow", "keras", "tf_keras", "jax", "torch")
SENDERS = ((os, "kill"), (os, "killpg"), (_signal, "pthread_kill"), (_signal, "raise_signal"))
WORKERS = ("multiprocessing.spawn", "multiprocessing.resource_tracker", "multiprocessing.forkserver", "--multiprocessing-fork")


def is_worker_process() -> bool:
    """A process that multiprocessing started for itself: not a program of its own."""
    return any(worker in part for part in getattr(sys, "orig_argv", None) or _command() for worker in WORKERS)


def _command() -> list[str]:
    """What this process was started with: before Python 3.10 only the kernel knows it."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


class ImportTrigger:
    """Everything that is put in place to wait, and taken away again by `disarm`."""

    def __init__(self, run_path: str, safely: Callable[[Callable[[], None]], None]) -> None:
        """`safely` calls what it is given, and writes it down if that fails."""
        self._run_path, self._safely = run_path, safely
        self._armed = True
        self._excepthook = sys.excepthook
        self._senders: list[tuple[Any, str, Any, Any]] = []

    def arm(self) -> None:
        sys.meta_path.insert(0, self)
        sys.excepthook = self._error
        for module, name in SENDERS:
            original = getattr(module, name, None)
            if original is not None:
                self._put(module, name, original)
                if module is _signal and getattr(sys.modules.get("signal"), name, None) is original:  # loaded by a .pth file, say
                    self._put(sys.modules["signal"], name, original)
        os.register_at_fork(after_in_child=self.disarm)

    def _put(self, module: Any, name: str, original: Any) -> None:
        stand_in = self._stand_in(module, name, original)
        self._senders.append((module, name, original, stand_in))
        setattr(module, name, stand_in)

    def disarm(self) -> None:
        if not self._armed:
            return
        self._armed = False
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        if sys.excepthook == self._error:
            sys.excepthook = self._excepthook
        for module, name, original, stand_in in self._senders:
            for holder in (module, sys.modules.get("signal")):  # which has taken it from `_signal`
                if getattr(holder, name, None) is stand_in:
                    setattr(holder, name, original)

    def begin(self) -> None:
        if not self._armed:
            return
        self.disarm()
        self._safely(self._begin)

    def _begin(self) -> None:
        with OwnImports():
            from pathlib import Path

            from unstall.journal.run_folder import RunFolder
            from unstall.probe import startup
        startup.begin(RunFolder(Path(self._run_path)))

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Any = None) -> Any:
        """Only sees what is imported, and finds it by the probe's own finder, which this import would pass by."""
        if name not in FRAMEWORKS:
            return None
        self.begin()
        startup_module = sys.modules.get("unstall.probe.startup")
        finder = getattr(startup_module, "imports", None)
        return finder.find_spec(name, path, target) if finder in sys.meta_path else None

    def _error(self, kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        was_waiting = self._armed
        if not issubclass(kind, KeyboardInterrupt):  # Python ends by SIGINT then, unless anything else was run meanwhile (exec)
            self.begin()
        hook = sys.excepthook if was_waiting and sys.excepthook != self._error else self._excepthook
        hook(kind, error, traceback)

    def _stand_in(self, module: Any, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def send(*args: Any, **kwargs: Any) -> Any:
            if not self._armed:  # the probe was begun by a Guard, and has wrapped this in its turn
                return original(*args, **kwargs)
            self.begin()
            holder = module if module is os else sys.modules.get("signal")  # there the probe records it
            return getattr(holder, name, original)(*args, **kwargs)

        stand_in = hide_own_frames(send)
        stand_in.__name__ = stand_in.__qualname__ = name
        return stand_in
