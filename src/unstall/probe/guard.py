"""`unstall.Guard()`: a Keras callback that starts the watcher. It works with Keras 3 and with tf_keras.

It is a callback by its methods alone, without inheriting from Keras, which need not be imported yet. The watching itself
is done by the hooks of the probe; the callback does nothing at a step.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from unstall import __version__
from unstall.base.errors import attempt
from unstall.base.redact.environment import redact_command
from unstall.journal import run_folder
from unstall.journal.events import RunStarted
from unstall.journal.run_folder import RunFolder
from unstall.probe import startup
from unstall.probe.core import probe
from unstall.probe.host.files import get_working_folder
from unstall.probe.trigger import ImportTrigger


def start_watching(mode: str, quiet: bool) -> run_folder.RunFolder | None:
    """Switches the probe on and starts the watcher process, once in a program. None if Unstall is switched off, or cannot begin:
    then the program goes on without it, and is told so unless it is to be quiet."""

    def not_watched(error: Exception) -> None:
        if not quiet and sys.stderr is not None:
            sys.stderr.write(f"unstall: this program is not watched: {type(error).__name__}: {error}\n")

    return attempt(lambda: _start_watching(mode, quiet), lambda error: attempt(lambda: not_watched(error), _nothing))


def _nothing(error: Exception) -> None:
    """Standard error is closed, say: there is nobody to tell."""


def _start_watching(mode: str, quiet: bool) -> run_folder.RunFolder | None:
    if startup.is_disabled():
        return None
    for finder in list(sys.meta_path):
        if isinstance(finder, ImportTrigger):  # under `unstall run`, which has seen no framework yet: this is its run
            finder.begin()
    running = probe.get_current()
    if running is not None:
        return running.run  # under `unstall run`, or guarded already
    arguments = getattr(sys, "argv", [])
    run = run_folder.create(Path(arguments[0]).stem if arguments and arguments[0] else "program")
    new = startup.begin(run)
    if new is not None:
        command = redact_command(getattr(sys, "orig_argv", arguments))
        folder = get_working_folder() or ""
        new.emit(RunStarted(at=time.time(), mode=mode, command=command, folder=folder, pid=os.getpid(), version=__version__))
        new.shield.call("watcher", start_sidecar, run, quiet)
    return run


class Guard:
    """Watches this program from another process, from now on. `run` is the run's folder, `quiet` prints nothing.

    model.fit(dataset, callbacks=[unstall.Guard()])
    """

    # Keras asks these of a callback: that it may be called beside the training, and that it needs no NumPy values.
    async_safe = True
    _supports_tf_logs = True

    def __init__(self, quiet: bool = False) -> None:
        self.run = start_watching("guard", quiet)
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_model(self, model: Any) -> None:
        self.model = model

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def _implements_train_batch_hooks(self) -> bool:
        return False

    def _implements_test_batch_hooks(self) -> bool:
        return False

    def _implements_predict_batch_hooks(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):
            return _do_nothing
        raise AttributeError(f"Guard has no attribute {name!r}")


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    """Every on_… hook of a callback: the probe's own hooks see the training."""


# Starts the watcher process of a Guard or a watch(), from inside the program.
#
# It is not our child for long: a middleman starts it and ends at once, so that the program's own waits for children, its
# process group and its terminal never meet it.


LAUNCHER_TIMEOUT_S = 10.0
# As `python -m`, but without the working folder on its path: a file there may have the name of a module that the watcher needs.
WATCHER = "import sys; sys.path[:] = filter(None, sys.path); import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__')"


def start_sidecar(run: RunFolder, quiet: bool) -> None:
    package = __file__.rsplit("/unstall/", 1)[0]
    environment = {key: value for key, value in os.environ.items() if key not in ("UNSTALL_RUN", "PYTHONSTARTUP")}
    before = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = package + os.pathsep + before if before else package  # an empty entry is the working folder
    environment["UNSTALL_DISABLE"] = "1"
    command = [
        sys.executable,
        "-c",
        WATCHER,
        "unstall.supervisor.sidecar",
        str(run.path),
        str(os.getpid()),
        "quiet" if quiet else "speak",
    ]
    folder = get_working_folder() or "/"  # in one that was deleted Python cannot start
    launcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, env=environment, cwd=folder)
    launcher.wait(LAUNCHER_TIMEOUT_S)
