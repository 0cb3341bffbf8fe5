"""Starts the watcher process of a Guard or a watch(), from inside the program.

It is not our child for long: a middleman starts it and ends at once, so that the program's own waits for children, its
process group and its terminal never meet it.
"""

from __future__ import annotations

import os
import subprocess
import sys

from unstall.runs import RunFolder

MIDDLEMAN_TIMEOUT_S = 10.0


def start(run: RunFolder, quiet: bool) -> None:
    package = __file__.rsplit("/unstall/", 1)[0]
    environment = {key: value for key, value in os.environ.items() if key not in ("UNSTALL_RUN", "PYTHONSTARTUP")}
    environment["PYTHONPATH"] = package + os.pathsep + environment.get("PYTHONPATH", "")
    environment["UNSTALL_DISABLE"] = "1"
    command = [
        sys.executable,
        "-m",
        "unstall.supervisor.sidecar",
        str(run.path),
        str(os.getpid()),
        "quiet" if quiet else "speak",
    ]
    middleman = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, env=environment)
    middleman.wait(MIDDLEMAN_TIMEOUT_S)
