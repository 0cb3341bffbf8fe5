"""Stacks of the programs that hang, recorded on each stack of versions: a small JSON file for each, tests/diagnosis/stacks/<stack>.json.

{"generator_blocked_fit": [{"name": "MainThread", "frames": [["/site-packages/keras/engine/training.py", "fit", 1685], …]}, …]}

The user's program is /home/user/train.py. Threads without a frame of the user's are left out, and those that have no others.
"""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

from tests.versions.programs_index import Program
from unstall.journal.events import Frame, StackSampled, ThreadStack
from unstall.sensors import stacks

FOLDER = Path(__file__).parents[1] / "diagnosis/stacks"
PROGRAM = "/home/user/train.py"
TRIES = 3  # on a busy machine py-spy may give no answer in its time
_INSTALLED = re.compile(r"^.*(?=/site-packages/)")
_STDLIB = re.compile(r"^.*(?=/lib/python3)")
_lock = threading.Lock()


def record(folder: Path, stack: str, program: Program, pid: int) -> None:
    looks = (stacks.sample(pid) for _ in range(TRIES))
    sample = next((look for look in looks if isinstance(look, StackSampled)), None)
    if sample is None:
        return
    threads = [
        {
            "name": thread["name"],
            "frames": [[_short(frame, program), frame["function"], frame["line"]] for frame in thread["frames"]],
        }
        for thread in sample.threads
        if {frame["file"] == str(program.path) for frame in thread["frames"]} == {True, False}
    ]
    if not threads:
        return
    with _lock:
        path = folder / f"{stack}.json"
        folder.mkdir(parents=True, exist_ok=True)
        known = json.loads(path.read_text()) if path.exists() else {}
        known[program.name] = threads
        rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(known[name])}" for name in sorted(known))
        path.write_text(f"{{\n{rows}\n}}\n")


def _short(frame: Frame, program: Program) -> str:
    if frame["file"] == str(program.path):
        return PROGRAM
    return _STDLIB.sub("", _INSTALLED.sub("", frame["file"]))


def load(path: Path) -> dict[str, list[ThreadStack]]:
    return {
        name: [_thread(number, thread["name"], thread["frames"]) for number, thread in enumerate(threads, 1)]
        for name, threads in json.loads(path.read_text()).items()
    }


def _thread(number: int, name: str, rows: list[tuple[str, str, int]]) -> ThreadStack:
    frames: list[Frame] = [{"file": file, "function": function, "line": line, "module": ""} for file, function, line in rows]
    return {"id": number, "name": name, "frames": frames}  # type: ignore[typeddict-item]
