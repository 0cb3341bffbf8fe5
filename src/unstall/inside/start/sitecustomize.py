"""The zero-code start: Python runs this file before the program, because `unstall run` puts its folder on PYTHONPATH.

It takes its folder off the path again, makes the probe wait for its moment, and then runs the sitecustomize that would
have run without it. If anything fails, the program starts as if nothing had been here, and the journal has why.
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
    """A ProbeFailed, as the journal's writer would write it: it may be what cannot be loaded."""
    import json

    text = f"{type(error).__name__}: {error}"[:500]
    line = json.dumps({"event": "ProbeFailed", "at": time.time(), "probe": "start", "error": text, "disabled": True})
    try:
        path = os.path.join(os.environ.get("UNSTALL_RUN", ""), f"events-inside-{os.getpid()}.jsonl")
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


try:
    _switch_on()
except Exception as error:  # the program must start, whatever is wrong with us: of Unstall nothing may be loadable
    _tell_failed(error)
_run_the_other()
