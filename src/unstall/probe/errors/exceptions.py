"""Errors that end the program, warnings that are shown, and what the frameworks log at WARNING and above.

Nothing is printed, held back or changed: an uncaught error is passed on without our frames, so that it prints as it
would alone.
"""

from __future__ import annotations

import linecache
import logging
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Optional

from unstall.base.redact.text import register_variables
from unstall.journal.events import ErrorInspected, ErrorRaised, ExitCalled, WarningShown
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.tracebacks import OWN, remove_own_frames
from unstall.probe.core.user_code import find_user_frame, find_user_place, is_user_code, is_user_path, list_traceback_frames
from unstall.probe.errors import failing_lines, makers, python_functions, traced_lines
from unstall.probe.errors.values import find_losses_not_finite, has_secret
from unstall.probe.host import devices, files, modules
from unstall.probe.input import batch_stats
from unstall.probe.input.batch_samples import AT_THE_ERROR, get_batch_facts

LOGGERS = ("tensorflow", "absl", "jax", "keras")
LONGEST_MESSAGE = 4000
MAX_WARNINGS = 200
LONGEST_CHAIN = 4
LONGEST_LINK = 1000
MAX_NAMES = 200


def create_error_event(
    probe: Probe,
    kind: type[BaseException],
    error: Any,
    traceback: Any,
    fatal: bool,
    names: Optional[list[str]] = None,
    caught: bool = False,
) -> ErrorRaised:
    probe.shield.call("secrets", _register_secrets, traceback)
    return ErrorRaised(
        at=time.time(),
        kind=_name(kind),
        message=_shortened(str(error), LONGEST_MESSAGE),
        frames=list_traceback_frames(traceback),
        fatal=fatal,
        thread=threading.current_thread().name,
        phase=probe.phase,
        step=probe.train.done if probe.fit_depth else -1,
        chain=_led_to(error),
        names=names or [],
        caught=caught,
        own_class=_is_own_class(kind),
    )


def _register_secrets(traceback: Any) -> None:
    """What stands under the name of a secret in the functions of a traceback is masked in the error's message, too."""
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        outer = frame.f_globals if is_user_code(frame.f_code) else {}
        for names in (dict(outer), dict(frame.f_locals)):
            settings = [value for value in names.values() if type(value) is dict and len(value) < MAX_NAMES]
            for each in (names, *settings):
                register_variables({str(name): value for name, value in each.items() if has_secret(str(name), value)})


def _is_own_class(kind: type[BaseException]) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ == "__main__" or (isinstance(file, str) and is_user_path(file))


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
    rows: list[str] = []
    for _ in range(LONGEST_CHAIN):
        error = getattr(error, "__cause__", None) or getattr(error, "__context__", None)
        if error is None:
            break
        rows.append(_shortened(f"{_name(type(error))}: {error}", LONGEST_LINK))
    return rows


def _shortened(text: str, longest: int) -> str:
    """The begin and the end: TensorFlow puts what went wrong below a long list of frames."""
    return text if len(text) <= longest else f"{text[: longest // 2]}\n…\n{text[-longest // 2 :]}"


def install(probe: Probe) -> None:
    _hook_errors(probe)
    _hook_thread_errors(probe)
    _hook_warnings(probe)
    watch_exits(probe, lambda error: _report_caught(probe, error))
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_Listener(probe, name))


def _hook_errors(probe: Probe) -> None:
    before = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        if probe.active:
            try:
                _report_error(probe, kind, error, traceback)
            except KeyboardInterrupt:  # Ctrl-C again: the program is ending already, and alone it would print its error now
                pass
        try:
            clean = remove_own_frames(traceback)
            error.__traceback__ = clean
        except (TypeError, ValueError, AttributeError):  # an exotic traceback is passed on as it is
            clean = traceback
        before(kind, error, clean)

    sys.excepthook = excepthook


def _report_error(probe: Probe, kind: type[BaseException], error: BaseException, traceback: Any) -> None:
    probe.shield.call("steps", probe.train.flush, time.monotonic())  # those that were not told of yet
    event = probe.shield.call("errors", create_error_event, probe, kind, error, traceback, True)
    if event is not None:
        probe.shield.call("errors", probe.emit, event)
        probe.shield.call("error inspection", inspect_error, probe, error, traceback, event.at)
    probe.shield.call("modules", modules.report_once, probe)
    probe.shield.call("files", files.report, probe, traceback)
    probe.shield.call("batch at the error", report_batch, probe, traceback)
    probe.shield.call("device memory", devices.report_memory, probe)


def _report_caught(probe: Probe, error: BaseException) -> float:
    """The error that the program handles while it ends itself."""
    event = create_error_event(probe, type(error), error, error.__traceback__, fatal=False, caught=True)
    probe.emit(event)
    inspect_error(probe, error, error.__traceback__, event.at)
    probe.shield.call("files", files.report, probe, error.__traceback__)
    return event.at


def _hook_thread_errors(probe: Probe) -> None:
    before = getattr(threading, "excepthook", None)
    if before is None:  # before Python 3.8 a thread printed its error itself
        return

    def excepthook(args: Any) -> None:
        if probe.active and args.exc_value is not None:
            probe.shield.call("thread errors", _report_thread_error, probe, args)
        before(args)

    threading.excepthook = excepthook


def _report_thread_error(probe: Probe, args: Any) -> None:
    names = probe.shield.call("thread names", _names_used, args.exc_traceback)
    event = create_error_event(probe, args.exc_type, args.exc_value, args.exc_traceback, fatal=False, names=names)
    probe.emit(event)
    inspect_error(probe, args.exc_value, args.exc_traceback, event.at)


def _hook_warnings(probe: Probe) -> None:
    # Not warnings.showwarning: replacing that changes how a warning is shown.
    before = getattr(warnings, "_showwarnmsg_impl", None)
    if before is None:
        return
    seen = 0

    def show(message: Any) -> None:
        nonlocal seen
        seen += 1
        probe.shield.call("warnings", _correct_place, message)
        if probe.active and seen <= MAX_WARNINGS:
            probe.shield.call("warnings", _record_warning, probe, message)
        before(message)

    warnings._showwarnmsg_impl = show  # type: ignore[attr-defined]


# Where a warning is shown to come from: `warnings.warn(…, stacklevel=2)` counts frames, and our hooks lie between them. It is
# corrected when it is shown, and names the frame that it would name without them.


_OF_WARNINGS = ("warnings", "_py_warnings")


def _correct_place(message: Any) -> None:
    """Called, by whatever of ours, while the warning is shown: the frames that it was counted over are still there."""
    frame: Any = sys._getframe()
    while frame is not None and (_is_ours(frame) or frame.f_globals.get("__name__") in _OF_WARNINGS):
        frame = frame.f_back
    missing = 0  # frames that were counted and are ours
    while frame is not None:
        missing += _is_ours(frame)
        if frame.f_lineno == message.lineno and frame.f_code.co_filename == message.filename:
            break
        frame = frame.f_back
    while frame is not None and missing:
        frame = frame.f_back
        missing -= frame is not None and not _is_ours(frame) and not _is_of_import(frame)
    if frame is not None:
        message.filename, message.lineno = frame.f_code.co_filename, frame.f_lineno


def _is_ours(frame: Any) -> bool:
    return bool(frame.f_code.co_filename.startswith(OWN))


def _is_of_import(frame: Any) -> bool:
    """Not counted by `warnings` either."""
    return "importlib" in frame.f_code.co_filename and "_bootstrap" in frame.f_code.co_filename


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


# The numbers that a step was given when an error ended the program: of the batch in hand, and of the lines that failed.
#
# A loss that refuses its numbers says that they are out of range, and not that the data holds a NaN. So the batch that it was
# given is looked at, as far as it is still there and lies in host memory, and within a time limit.


SEARCH_S = 0.5
MAX_ELEMENTS = 4_000_000  # of one array
MAX_ARRAYS = 12


def report_batch(probe: Probe, traceback: Optional[TracebackType]) -> None:
    if "numpy" not in sys.modules or not any(name in sys.modules for name in ("torch", "jax", "tensorflow")):
        return
    until = time.monotonic() + SEARCH_S
    facts = get_batch_facts(probe)
    described: list[dict[str, Any]] = []
    seen: set[int] = set()
    for role, name, value in [*facts.current_arrays(), *_variables(traceback)]:
        if id(value) in seen or len(described) >= MAX_ARRAYS or time.monotonic() > until:
            continue
        seen.add(id(value))
        try:
            found = _described(role, name, value, until)
        except (TypeError, ValueError, RuntimeError, AttributeError):  # of a device, of a kind that NumPy has not, or deleted
            continue
        if found is not None:
            described.append(found)
    if described:
        facts.report(AT_THE_ERROR, described)


def _described(role: str, name: str, value: Any, until: float) -> Optional[dict[str, Any]]:
    array = _as_array(value)
    if array is None:
        return None
    facts = batch_stats.describe(role, name, array, MAX_ELEMENTS)
    if facts.get("not_finite"):
        row = batch_stats.find_first_bad_row(array, until, time.monotonic)
        if row is not None:
            facts["first_bad_row"] = row
    return facts


def _as_array(value: Any) -> Optional[Any]:
    if type(value).__module__.startswith("jaxlib") and hasattr(value, "devices"):
        on_host = all(device.platform == "cpu" for device in value.devices())
        return batch_stats.as_array(sys.modules["numpy"].asarray(value)) if on_host else None
    return batch_stats.as_array(value)


def _variables(traceback: Optional[TracebackType]) -> Iterator[batch_stats.Part]:
    """What stands in the lines of the traceback: in the program's own, and in the one that raised; the innermost first."""
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    for depth, (frame, number) in enumerate(reversed(frames)):
        if depth and not is_user_code(frame.f_code):
            continue
        line = linecache.getline(frame.f_code.co_filename, number)
        role = "variable" if is_user_code(frame.f_code) else "argument"
        for name, value in list(frame.f_locals.items()):
            if re.search(rf"\b{re.escape(name)}\b", line):
                yield from batch_stats.name_arrays(role, value, name)


# What an error passed through: the program's lines with their values, and the lines that made what failed. Also what a program
# says of its own end: that it called sys.exit with something other than success, and which error it was handling then. Each part
# is looked at by itself, so that one which cannot be read costs no other.


MAX_INSPECTED = 20  # errors of one program; threads may end one after the other
MAX_MESSAGE = 500


def inspect_error(probe: Probe, error: Any, traceback: Optional[TracebackType], at: float) -> None:
    count = probe.extras["errors inspected"] = probe.extras.get("errors inspected", 0) + 1
    if count > MAX_INSPECTED:
        return
    began = time.monotonic()
    until = began + failing_lines.SECONDS

    def look_for_makers() -> list[dict[str, Any]]:
        # With a time of its own: the stages of a data set may take long on a busy machine.
        return makers.find_makers(probe, error, traceback, time.monotonic() + failing_lines.SECONDS)

    def part(name: str, look: Callable[..., Any], *arguments: Any) -> list[dict[str, Any]]:
        return probe.shield.call(f"error: {name}", look, *arguments) or []

    sent = probe.shield.call("error: worker", makers.find_sent, traceback) or {}
    sent = sent or probe.shield.call("error: python function", python_functions.find_seen, probe, error) or {}
    event = ErrorInspected(
        at=time.time(),
        error_at=at,
        lines=[
            *part("lines", failing_lines.inspect_lines, traceback, until),
            *(sent.get("lines") or part("traced lines", traced_lines.inspect_lines, error, until)),
        ],
        calls=sent.get("calls") or part("calls", failing_lines.inspect_calls, traceback, until),
        pipelines=part("pipelines", makers.find_pipelines, probe, traceback),
        makers=[*sent.get("makers", []), *part("makers", look_for_makers)],
        seconds=time.monotonic() - began,
    )
    probe.emit(event)


def watch_exits(probe: Probe, report_caught: Callable[[BaseException], float]) -> None:
    """`report_caught` writes down the error that was being handled, and gives the moment by which it is known."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def exit(*args: Any, **kwargs: Any) -> Any:
            status = args[0] if args else kwargs.get("status")
            if probe.active and status is not None and not (type(status) in (int, bool) and status == 0):
                probe.shield.call("exit", note, status)
            return original(*args, **kwargs)

        return exit

    def note(status: Any) -> None:
        handled = sys.exc_info()[1]
        is_error = isinstance(handled, Exception)
        at = report_caught(handled) if is_error and handled is not None else None
        code = status if type(status) in (int, bool) else 1
        message = status[:MAX_MESSAGE] if type(status) is str else ""
        kind = type(status)
        given = "" if kind in (int, bool, str) else f"{kind.__module__}.{kind.__qualname__}"
        event = ExitCalled(
            at=time.time(),
            exit_code=int(code) & 0xFF,
            message=message,
            given=given,
            where=find_user_place(2),
            error_at=at,
            not_finite=find_losses_not_finite(find_user_frame(2)),
        )
        probe.emit(event)

    wrap(sys, "exit", make)
