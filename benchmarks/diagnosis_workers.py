"""Specimens made for several workers: each worker under its own watcher, all runs in one folder, read together as they go on.

The workers are told their place as torchrun does. What holds for them as a whole is asked from `unstall diagnose FOLDER` every
few seconds, as somebody would who looks again. Of one that hangs the first verdict counts, of one that ends the last answer.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.specimens_index import Specimen

UNSTALL = [sys.executable, "-m", "unstall"]
ASK_EVERY_S = 3.0
CLOCK_AHEAD = Path(__file__).parents[1] / "tests" / "specimens" / "clock_ahead.c"


def can_run(specimen: Specimen) -> bool:
    return "cc" not in specimen.needs or shutil.which("cc") is not None


def _clock_ahead(folder: Path, seconds: float) -> dict[str, str]:
    """Variables by which a process has a wall clock of its own."""
    library = folder / "clock_ahead.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(CLOCK_AHEAD), "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_AHEAD_S": f"{seconds:.0f}"}


def run(specimen: Specimen, home: Path, onset: Path, grace_s: float) -> tuple[dict[str, Any], str]:
    """The story of the whole, as of a single run; and how it ended."""
    home.mkdir(parents=True)
    until = time.monotonic() + specimen.seconds + (grace_s if specimen.ends != "hangs" else 20.0)
    plain: dict[str, Any] = {}
    found_at = None
    with _started(specimen, home, onset) as processes:
        while any(process.poll() is None for process in processes) and time.monotonic() < until:
            time.sleep(ASK_EVERY_S)
            plain = asked(home) or plain
            if plain.get("verdicts"):
                found_at = found_at or time.time()
                if specimen.ends == "hangs":
                    break  # as a single one is stopped when its stall has been named
        ended = "stopped" if any(process.poll() is None for process in processes) else "by itself"
        if ended == "by itself":
            plain = asked(home) or plain
            found_at = found_at or (time.time() if plain.get("verdicts") else None)
    return {**plain, "found_at": found_at if plain.get("verdicts") else None}, ended


def asked(home: Path) -> dict[str, Any]:
    """What `unstall diagnose` says of the crew; of runs that are none, of the first that it has a verdict on."""
    done = subprocess.run([*UNSTALL, "diagnose", f"{home}/", "--json", "-"], capture_output=True, text=True, check=False)
    try:
        plain = json.loads(done.stdout)
    except ValueError:
        return {}
    stories = (
        [*plain.get("run_groups", []), *(each["story"] for each in plain.get("ungrouped", []))]
        if "run_groups" in plain
        else [plain]
    )
    story: dict[str, Any] = next((each for each in stories if each.get("verdicts")), stories[0] if stories else {})
    return story


@contextmanager
def _started(specimen: Specimen, home: Path, onset: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    processes = []
    for worker in range(specimen.workers):
        env = os.environ | {"UNSTALL_HOME": str(home), "SPECIMEN_ONSET": str(onset), "TF_CPP_MIN_LOG_LEVEL": "2"}
        env |= {"RANK": str(worker), "WORLD_SIZE": str(specimen.of), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        if specimen.ahead_s and worker == specimen.workers - 1:
            env |= _clock_ahead(home.parent, specimen.ahead_s)
        command = [*UNSTALL, "run", "--quiet", "--", sys.executable, str(specimen.path)]
        nothing = subprocess.DEVNULL
        processes.append(
            subprocess.Popen(command, env=env, cwd=specimen.path.parent, stdin=nothing, stdout=nothing, stderr=nothing)
        )
    try:
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
