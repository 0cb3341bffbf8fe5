"""Starts the watcher process of a Guard or a watch(), from inside the program.

It is not our child for long: a middleman starts it and ends at once, so that the program's own waits for children, its
process group and its terminal never meet it.
"""

from __future__ import annotations

import os
import subprocess
import sys

from unstall.journal.run_folder import RunFolder
from unstall.probe.host.files import working_folder

LAUNCHER_TIMEOUT_S = 10.0
# As `python -m`, but without the working folder on its path: a file there may have the name of a module that the watcher needs.
WATCHER = "import sys; sys.path[:] = filter(None, sys.path); import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__')"


def start(run: RunFolder, quiet: bool) -> None:
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
    folder = working_folder() or "/"  # in one that was deleted Python cannot start
    launcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, env=environment, cwd=folder)
    launcher.wait(LAUNCHER_TIMEOUT_S)
