"""The zero-code start: Python runs this file before the program, because `unstall run` puts its folder on PYTHONPATH.

It takes its folder off the path again, makes the probe wait for its moment, and then runs the sitecustomize that would
have run without it. If anything fails, the program starts as if nothing had been here, and the journal has why; the error
that ends the program is then written down from here.

Syntax of Python 3.6: it also runs where the rest of Unstall cannot.
"""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # its names are not loaded at the start of every process
    from collections.abc import Callable
    from typing import Any

OLDEST = (3, 7)
MOST_FRAMES = 100
LONGEST_MESSAGE = 4000


def _switch_on() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    run = os.environ.get("UNSTALL_RUN")
    if not run or os.environ.get("UNSTALL_DISABLE", "") not in ("", "0"):
        return
    if sys.version_info < OLDEST:
        version = ".".join(str(part) for part in sys.version_info[:3])
        raise RuntimeError(f"Python {version} is too old. Expected Python 3.7 or later")
    package = os.path.dirname(os.path.dirname(folder))
    _make_importable(package)
    from unstall.inside import early

    if not early.is_worker_process():
        early.Waiting(run, _tell_failed).arm()


def _make_importable(package: str) -> None:
    """Unstall may be installed in another environment than the program's: it is loaded by its place."""
    import importlib.util

    if "unstall" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "unstall", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["unstall"] = module
        spec.loader.exec_module(module)


def _tell_failed(error: Exception) -> None:
    """That the probe does not run; from now on at least the error that ends the program is seen."""
    _write({"event": "ProbeFailed", "probe": "start", "error": f"{type(error).__name__}: {error}"[:500], "disabled": True})
    before, pid = sys.excepthook, os.getpid()

    def excepthook(kind: "type[BaseException]", error: BaseException, traceback: "Any") -> None:
        if os.getpid() == pid:  # not in a forked child
            _guarded(lambda: _tell_error(kind, error, traceback))
        before(kind, error, traceback)

    if before.__module__ != __name__:
        sys.excepthook = excepthook


def _tell_error(kind: "type[BaseException]", error: BaseException, traceback: "Any") -> None:
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append({"function": code.co_name, "file": code.co_filename, "line": traceback.tb_lineno, "module": ""})
        traceback = traceback.tb_next
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    message = str(error)[:LONGEST_MESSAGE]
    innermost_first = frames[::-1][:MOST_FRAMES]
    _write({"event": "ErrorRaised", "kind": name, "message": message, "frames": innermost_first, "fatal": True})


def _write(event: "dict[str, Any]") -> None:
    """As the journal's writer would write it: that may be what cannot be loaded."""
    import json

    try:
        path = os.path.join(os.environ.get("UNSTALL_RUN", ""), f"events-inside-{os.getpid()}.jsonl")
        line = _redacted(json.dumps({**event, "at": time.time()}))
        with open(path, "a", opener=lambda name, flags: os.open(name, flags | os.O_CLOEXEC, 0o600)) as journal:
            journal.write(line + "\n")
    except OSError:  # nowhere to write it
        pass


def _run_the_other() -> None:
    """The sitecustomize that this one hides."""
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        sys.modules["sitecustomize"] = this
        if error.name != "sitecustomize":
            raise


def _redacted(line: str) -> str:
    """Without secrets; where that module cannot be loaded either, the reader of the journal sees to it."""
    try:
        from unstall.redaction import redact_json
    except (ImportError, SyntaxError, TypeError):  # an interpreter that is too old for it
        return line
    return redact_json(line)


def _guarded(function: "Callable[[], None]") -> None:
    try:
        function()
    except Exception as error:  # the program must run, whatever is wrong with us: of Unstall nothing may be loadable
        _tell_failed(error)


_guarded(_switch_on)
_run_the_other()
