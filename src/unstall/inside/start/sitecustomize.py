"""The zero-code start: Python runs this file before the program, because `unstall run` puts its folder on PYTHONPATH.

It takes its folder off the path again, makes the probe wait for its moment, and then runs the sitecustomize that would
have run without it. If anything fails, the program starts as if nothing had been here, and the journal has why.

Nothing is imported that Python has not loaded by itself: the program may have a file of that name, and would not get it.
"""

import os
import sys
import time


def _switch_on() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    run = os.environ.get("UNSTALL_RUN")
    if not run or os.environ.get("UNSTALL_DISABLE", "") not in ("", "0"):
        return
    _make_importable(os.path.dirname(os.path.dirname(folder)))
    from unstall.inside import early

    if not early.is_worker_process():
        early.Waiting(run, _safely).arm()


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


def _safely(call) -> None:  # type: ignore[no-untyped-def]
    """The program must go on, whatever is wrong with us: of Unstall nothing may be loadable, nor anything be writable."""
    _attempt(call, lambda error: _attempt(lambda: _tell_failed(error), lambda again: None))


def _attempt(call, failed) -> None:  # type: ignore[no-untyped-def]
    try:
        call()
    except Exception as error:  # whatever it is, the program is not to meet it
        try:
            failed(error)
        except RecursionError:  # the program itself is at the end of its stack
            pass


def _tell_failed(error: Exception) -> None:
    """A ProbeFailed, as the journal's writer would write it: it may be what cannot be loaded."""
    text = _as_json(f"{type(error).__name__}: {error}"[:500])
    line = f'{{"event": "ProbeFailed", "at": {time.time()!r}, "probe": "start", "error": {text}, "disabled": true}}\n'
    journal = os.path.join(os.environ.get("UNSTALL_RUN", ""), f"events-inside-{os.getpid()}.jsonl")
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def _as_json(text: str) -> str:
    """By hand: `json` may be the program's own."""
    units = text.encode("utf-16-be", "surrogatepass")
    codes = [units[at] << 8 | units[at + 1] for at in range(0, len(units), 2)]
    return '"' + "".join(chr(code) if 32 <= code < 127 and code not in b'"\\' else f"\\u{code:04x}" for code in codes) + '"'


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
