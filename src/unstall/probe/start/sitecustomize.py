"""The zero-code start: Python runs this file before the program, because `unstall run` puts its folder on PYTHONPATH.

It takes its folder off the path again, makes the probe wait for its moment, and then runs the sitecustomize that would
have run without it. If anything fails, the program starts as if nothing had been here, and the journal has why; the error
that ends the program is then written down from here.

Nothing is imported that Python has not loaded by itself: the program may have a file of that name, and would not get it.
Syntax of Python 3.6: this file also runs where the rest of Unstall cannot.
"""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # its names are not loaded at the start of every process
    from collections.abc import Callable
    from typing import Any

OLDEST = (3, 7)
MAX_FRAMES = 100
MAX_MESSAGE = 4000


def _switch_on() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    run = os.environ.get("UNSTALL_RUN")
    if not run or os.environ.get("UNSTALL_DISABLE", "") not in ("", "0"):
        return
    if sys.version_info < OLDEST:
        version = ".".join(str(part) for part in sys.version_info[:3])
        raise RuntimeError(f"Python {version} is too old. Expected Python 3.7 or later")
    _make_importable(os.path.dirname(os.path.dirname(folder)))
    from unstall.probe import trigger

    if not trigger.is_worker_process():
        trigger.ImportTrigger(run, _safely).arm()


def _make_importable(package: str) -> None:
    """Unstall may be installed in another environment than the program's: it is loaded by its place."""
    if "unstall" in sys.modules:
        return
    before = sys.path[:]
    sys.path.insert(0, os.path.dirname(package))
    try:
        import unstall  # noqa: F401
    finally:
        sys.path[:] = before


def _safely(call: "Callable[[], object]") -> None:
    """The program must go on, whatever is wrong with us: of Unstall nothing may be loadable, nor anything be writable."""
    _attempt(call, lambda error: _attempt(lambda: _report_failed(error), lambda again: None))


def _attempt(call: "Callable[[], object]", failed: "Callable[[Exception], object]") -> None:
    try:
        call()
    except Exception as error:  # whatever it is, the program is not to meet it
        try:
            failed(error)
        except RecursionError:  # the program itself is at the end of its stack
            pass


# --- without the probe ---


def _report_failed(error: Exception) -> None:
    """That the probe does not run; from now on at least the error that ends the program is seen."""
    before, pid = sys.excepthook, os.getpid()

    def excepthook(kind: "type[BaseException]", error: BaseException, traceback: "Any") -> None:
        if os.getpid() == pid:  # not in a forked child
            _attempt(lambda: _report_error(kind, error, traceback), lambda again: None)
        before(kind, error, traceback)

    if before.__module__ != __name__:
        sys.excepthook = excepthook
    _write({"event": "ProbeFailed", "probe": "start", "error": f"{type(error).__name__}: {error}"[:500], "disabled": True})


def _report_error(kind: "type[BaseException]", error: BaseException, traceback: "Any") -> None:
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append({"function": code.co_name, "file": code.co_filename, "line": traceback.tb_lineno, "module": ""})
        traceback = traceback.tb_next
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    innermost_first = frames[::-1][:MAX_FRAMES]
    _write({"event": "ErrorRaised", "kind": name, "message": str(error)[:MAX_MESSAGE], "frames": innermost_first, "fatal": True})


def _write(event: "dict[str, Any]") -> None:
    """As the journal's writer would write it: that may be what cannot be loaded."""
    line = _redacted(_as_json({**event, "at": time.time()}))
    journal = os.path.join(os.environ.get("UNSTALL_RUN", ""), f"events-probe-{os.getpid()}.jsonl")
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, line.encode() + b"\n")
    finally:
        os.close(file)


def _as_json(value: "Any") -> str:
    """By hand: `json` may be the program's own."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_as_json(key)}: {_as_json(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_as_json(each) for each in value) + "]"
    if not isinstance(value, str):
        return {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    units = value.encode("utf-16-be", "surrogatepass")
    codes = [units[at] << 8 | units[at + 1] for at in range(0, len(units), 2)]
    return '"' + "".join(chr(code) if 32 <= code < 127 and code not in b'"\\' else f"\\u{code:04x}" for code in codes) + '"'


def _redacted(line: str) -> str:
    """Without secrets; where that module cannot be loaded either, the reader of the journal sees to it."""
    try:
        from unstall.probe.core.stdlib_imports import OwnImports

        with OwnImports():
            from unstall.base.redact.text import redact_json
    except (ImportError, SyntaxError, TypeError):  # half an installation, or an interpreter that is too old
        return line
    return str(redact_json(line))


def _run_the_other() -> None:
    """The sitecustomize that this one hides."""
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        sys.modules["sitecustomize"] = this
        if error.name != "sitecustomize":
            raise


_safely(_switch_on)
_run_the_other()
