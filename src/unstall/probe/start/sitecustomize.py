"""The zero-code start: Python runs this file before the program, because `unstall run` puts its folder on PYTHONPATH.

It takes its folder off the path again, makes the probe wait for its moment, and then runs the sitecustomize that would
have run without it. If anything fails, the program starts as if nothing had been here, and the journal has why; the error
that ends the program is then written down from here.

Nothing is imported that Python has not loaded by itself: the program may have a file of that name, and would not get it.
Syntax of Python 2.7 and of every Python 3: this file also runs where the rest of Unstall cannot. So types are in comments.
"""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # its names are not loaded at the start of every process
    from collections.abc import Callable  # noqa: F401  (in comments)
    from typing import Any  # noqa: F401

OLDEST = (3, 7)
MAX_FRAMES = 100
MAX_MESSAGE = 4000
TEXT = type(b"".decode())  # `unicode` in Python 2


def _switch_on():
    # type: () -> None
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    run = os.environ.get("UNSTALL_RUN")
    if not run or os.environ.get("UNSTALL_DISABLE", "") not in ("", "0"):
        return
    if sys.version_info < OLDEST:
        version = ".".join(str(part) for part in sys.version_info[:3])
        raise RuntimeError("Python %s is too old. Expected Python 3.7 or later" % version)
    _make_importable(os.path.dirname(os.path.dirname(folder)))
    from unstall.probe import trigger

    if not trigger.is_worker_process():
        trigger.ImportTrigger(run, _safely).arm()


def _make_importable(package):
    # type: (str) -> None
    """Unstall may be installed in another environment than the program's: it is loaded by its place."""
    if "unstall" in sys.modules:
        return
    before = sys.path[:]
    sys.path.insert(0, os.path.dirname(package))
    try:
        import unstall  # noqa: F401
    finally:
        sys.path[:] = before


def _safely(call):
    # type: (Callable[[], object]) -> None
    """The program must go on, whatever is wrong with us: of Unstall nothing may be loadable, nor anything be writable."""
    _attempt(call, lambda error: _attempt(lambda: _report_failed(error), lambda again: None))


def _attempt(call, failed):
    # type: (Callable[[], object], Callable[[Exception], object]) -> None
    try:
        call()
    except Exception as error:  # whatever it is, the program is not to meet it
        try:
            failed(error)
        except RuntimeError:  # RecursionError, by its older name: the program itself is at the end of its stack
            pass


# --- without the probe ---


def _report_failed(error):
    # type: (Exception) -> None
    """That the probe does not run; from now on at least the error that ends the program is seen."""
    before, pid = sys.excepthook, os.getpid()

    def excepthook(kind, error, traceback):
        # type: (type[BaseException], BaseException, Any) -> None
        if os.getpid() == pid:  # not in a forked child
            _attempt(lambda: _report_error(kind, error, traceback), lambda again: None)
        before(kind, error, traceback)

    if before.__module__ != __name__:
        sys.excepthook = excepthook
    message = "%s: %s" % (type(error).__name__, error)
    _write({"event": "ProbeFailed", "probe": "start", "error": message[:500], "disabled": True})


def _report_error(kind, error, traceback):
    # type: (type[BaseException], BaseException, Any) -> None
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append({"function": code.co_name, "file": code.co_filename, "line": traceback.tb_lineno, "module": ""})
        traceback = traceback.tb_next
    name = getattr(kind, "__qualname__", kind.__name__)
    if kind.__module__ not in ("builtins", "exceptions"):  # as Python 3 and Python 2 call it
        name = kind.__module__ + "." + name
    innermost_first = frames[::-1][:MAX_FRAMES]
    message = _message(error)[:MAX_MESSAGE]
    _write({"event": "ErrorRaised", "kind": name, "message": message, "frames": innermost_first, "fatal": True})


def _message(error):
    # type: (BaseException) -> str
    try:
        return str(error)
    except UnicodeError:  # Python 2, with letters that are not of ASCII
        return TEXT(error)


def _write(event):
    # type: (dict[str, Any]) -> None
    """As the journal's writer would write it: that may be what cannot be loaded."""
    line = _redacted(_as_json(dict(event, at=time.time())))
    journal = os.path.join(os.environ.get("UNSTALL_RUN", ""), "events-probe-%d.jsonl" % os.getpid())
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        os.write(file, line.encode() + b"\n")
    finally:
        os.close(file)


def _as_json(value):
    # type: (Any) -> str
    """By hand: `json` may be the program's own."""
    if isinstance(value, dict):
        return "{" + ", ".join(_as_json(key) + ": " + _as_json(each) for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_as_json(each) for each in value) + "]"
    if isinstance(value, bytes):  # a text of Python 2
        value = value.decode("utf-8", "replace")
    if not isinstance(value, TEXT):
        return {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    units = bytearray(value.encode("utf-16-be", "surrogatepass" if sys.version_info >= (3,) else "strict"))
    codes = [units[at] << 8 | units[at + 1] for at in range(0, len(units), 2)]
    plain = set(range(32, 127)) - {ord('"'), ord("\\")}
    return '"' + "".join(chr(code) if code in plain else "\\u%04x" % code for code in codes) + '"'


def _redacted(line):
    # type: (str) -> str
    """Without secrets; where that module cannot be loaded either, the reader of the journal sees to it."""
    try:
        from unstall.probe.core.stdlib_imports import OwnImports

        with OwnImports():
            from unstall.base.redact.text import redact_json
    except (ImportError, SyntaxError, TypeError):  # half an installation, or an interpreter that is too old
        return line
    return str(redact_json(line))


def _run_the_other():
    # type: () -> None
    """The sitecustomize that this one hides."""
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        sys.modules["sitecustomize"] = this
        if getattr(error, "name", str(error).split()[-1:]) not in ("sitecustomize", ["sitecustomize"]):
            raise


THIS = sys.modules[__name__]  # Python 2 empties a module that nothing refers to, and a hook of ours may need it until the end
_safely(_switch_on)
_run_the_other()
