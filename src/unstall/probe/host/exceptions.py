"""Errors that end the program, warnings that are shown, and what the frameworks log at WARNING and above.

Nothing is printed, held back or changed: an uncaught error is passed on without our frames, so that it prints as it
would alone.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import warnings
from typing import Any, Optional

from unstall.journal.events import ErrorRaised, WarningShown
from unstall.probe.core.probe import Probe
from unstall.probe.core.tracebacks import without_ours
from unstall.probe.core.user_code import is_user_code, traceback_frames
from unstall.probe.host import devices, error_batch, files, modules

LOGGERS = ("tensorflow", "absl", "jax", "keras")
LONGEST_MESSAGE = 4000
MAX_WARNINGS = 200
LONGEST_CHAIN = 4
LONGEST_LINK = 1000
MAX_NAMES = 200


def error_event(
    probe: Probe, kind: type[BaseException], error: Any, traceback: Any, fatal: bool, names: Optional[list[str]] = None
) -> ErrorRaised:
    return ErrorRaised(
        at=time.time(),
        kind=_name(kind),
        message=_shortened(str(error), LONGEST_MESSAGE),
        frames=traceback_frames(traceback),
        fatal=fatal,
        thread=threading.current_thread().name,
        phase=probe.phase,
        step=probe.train.done if probe.fit_depth else -1,
        chain=_led_to(error),
        names=names or [],
    )


def _names_used(traceback: Any) -> list[str]:
    """What the program's own functions in a traceback use: a queue that their thread filled is among it."""
    names: dict[str, None] = {}
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_code(code):
            names.update(dict.fromkeys([*code.co_names, *code.co_varnames, *code.co_freevars]))
        traceback = traceback.tb_next
    return list(names)[:MAX_NAMES]


def _name(kind: type[BaseException]) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _led_to(error: Any) -> list[str]:
    """The errors that an error was raised from, or while handling."""
    told: list[str] = []
    for _ in range(LONGEST_CHAIN):
        error = getattr(error, "__cause__", None) or getattr(error, "__context__", None)
        if error is None:
            break
        told.append(_shortened(f"{_name(type(error))}: {error}", LONGEST_LINK))
    return told


def _shortened(text: str, longest: int) -> str:
    """The begin and the end: TensorFlow puts what went wrong below a long list of frames."""
    return text if len(text) <= longest else f"{text[: longest // 2]}\n…\n{text[-longest // 2 :]}"


def install(probe: Probe) -> None:
    _hook_errors(probe)
    _hook_thread_errors(probe)
    _hook_warnings(probe)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_Listener(probe, name))


def _hook_errors(probe: Probe) -> None:
    before = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        if probe.active:
            try:
                _tell_error(probe, kind, error, traceback)
            except KeyboardInterrupt:  # Ctrl-C again: the program is ending already, and alone it would print its error now
                pass
        try:
            clean = without_ours(traceback)
            error.__traceback__ = clean
        except (TypeError, ValueError, AttributeError):  # an exotic traceback is passed on as it is
            clean = traceback
        before(kind, error, clean)

    sys.excepthook = excepthook


def _tell_error(probe: Probe, kind: type[BaseException], error: BaseException, traceback: Any) -> None:
    probe.shield.call("steps", probe.train.flush, time.monotonic())  # those that were not told of yet
    probe.shield.call("errors", lambda: probe.emit(error_event(probe, kind, error, traceback, fatal=True)))
    probe.shield.call("modules", modules.tell_once, probe)
    probe.shield.call("files", files.tell, probe, traceback)
    probe.shield.call("batch at the error", error_batch.tell, probe, traceback)
    probe.shield.call("device memory", devices.tell_memory, probe)


def _hook_thread_errors(probe: Probe) -> None:
    before = getattr(threading, "excepthook", None)
    if before is None:  # before Python 3.8 a thread printed its error itself
        return

    def excepthook(args: Any) -> None:
        if probe.active and args.exc_value is not None:
            event = (probe, args.exc_type, args.exc_value, args.exc_traceback, False)
            names = probe.shield.call("thread names", _names_used, args.exc_traceback)
            probe.shield.call("thread errors", lambda: probe.emit(error_event(*event, names=names)))
        before(args)

    threading.excepthook = excepthook


def _hook_warnings(probe: Probe) -> None:
    # Not warnings.showwarning: replacing that changes how a warning is shown.
    before = getattr(warnings, "_showwarnmsg_impl", None)
    if before is None:
        return
    seen = 0

    def show(message: Any) -> None:
        nonlocal seen
        seen += 1
        if probe.active and seen <= MAX_WARNINGS:
            probe.shield.call("warnings", _record_warning, probe, message)
        before(message)

    warnings._showwarnmsg_impl = show  # type: ignore[attr-defined]


def _record_warning(probe: Probe, message: Any) -> None:
    where = f"{message.filename}:{message.lineno}"
    category = getattr(message.category, "__name__", str(message.category))
    text = str(message.message)[:LONGEST_MESSAGE]
    probe.emit(WarningShown(at=time.time(), source="warnings", category=category, message=text, where=where))


class _Listener(logging.Filter):
    """Sees the records of a logger and lets them all pass."""

    def __init__(self, probe: Probe, logger: str) -> None:
        super().__init__()
        self._probe = probe
        self._logger = logger
        self._seen = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if self._probe.active and record.levelno >= logging.WARNING and self._seen < MAX_WARNINGS:
            self._seen += 1
            self._probe.shield.call("logging", self._record, record)
        return True

    def _record(self, record: logging.LogRecord) -> None:
        message = record.getMessage()[:LONGEST_MESSAGE]
        event = WarningShown(at=time.time(), source=f"logging:{self._logger}", category=record.levelname, message=message)
        self._probe.emit(event)
