"""Reading stacks: whose line it is, what a thread waits in, and whether it has moved between samples."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePath

from unstall.journal.events import Frame, RunStarted, StackSampled, ThreadStack
from unstall.journal.reader import Journal

# Code that the user did not write: installed packages, the standard library, the interpreter's own frames.
_INSTALLED = re.compile(
    r"(^|/)(site-packages|dist-packages)/|(^|/)lib(64)?/python\d(\.\d+)?/|^<(frozen|string|stdin)|/lib/python\d+\.zip/"
    r"|/(keras|tf_keras)/src/|/keras/engine/|/tensorflow(_core)?/python/|/jax/_src/"  # the frameworks, wherever they lie
    r"|/torch/(nn|utils|optim|autograd|_dynamo)/"
    r"|/__autograph_generated_file"  # TensorFlow's rewriting of the user's code, with line numbers of its own
)
_STDLIB = sysconfig.get_paths()["stdlib"]
_OWN = str(PurePath(__file__).parents[1]) + "/"


@lru_cache(maxsize=4096)
def is_user_file(file: str) -> bool:
    """Whether a file is the user's own: not installed, not the standard library, not ours."""
    if not file or file.startswith(("<", _OWN)) or (not file.endswith((".py", ".ipynb")) and "ipykernel" not in file):
        return False
    return not _INSTALLED.search(file) and not file.startswith(_STDLIB + "/")


def is_native(frame: Frame) -> bool:
    return bool(frame["module"])


# Files of the frameworks that call the user's callbacks: Keras 3, and Keras 2 with its history of names.
CALLBACKS = ("/keras/src/callbacks/", "keras/src/callbacks.py", "/keras/callbacks.py", "/keras/callbacks/callbacks.py")


def frames_called_by(machinery: tuple[str, ...], thread: ThreadStack, but: tuple[str, ...] = ()) -> list[Frame]:
    """The user's frames that code of such paths has called, innermost first; empty where it has called none, or where code of
    other paths stands between."""
    users: list[Frame] = []
    for frame in thread["frames"]:
        if is_native(frame):
            continue
        if any(part in frame["file"] for part in machinery):
            return users
        if any(part in frame["file"] for part in but):
            return []
        if is_user_file(frame["file"]):
            users.append(frame)
    return []


def user_frames(thread: ThreadStack) -> list[Frame]:
    """The user's own frames, innermost first."""
    return [frame for frame in thread["frames"] if not is_native(frame) and is_user_file(frame["file"])]


def where(frame: Frame, folder: str = "") -> str:
    """file:line, relative to the program's folder where it lies inside it."""
    return place(frame["file"], frame["line"], folder)


def place(file: str, line: int, folder: str = "") -> str:
    prefix = folder.rstrip("/") + "/"
    short = file[len(prefix) :] if folder and file.startswith(prefix) else file
    return f"{short}:{line}"


def program_folder(journal: Journal) -> str:
    started = journal.last(RunStarted)
    return started.folder if started else ""


def has_function(thread: ThreadStack, *names: str) -> bool:
    """Whether any frame's function contains one of the names (native names carry namespaces and templates)."""
    return any(name in frame["function"] for frame in thread["frames"] for name in names)


def python_frames(thread: ThreadStack) -> list[Frame]:
    return [frame for frame in thread["frames"] if not is_native(frame)]


def main_thread(sample: StackSampled) -> ThreadStack | None:
    """py-spy calls it MainThread; otherwise it is the one whose id is the process's."""
    for thread in sample.threads:
        if thread["name"] == "MainThread":
            return thread
    return next((thread for thread in sample.threads if thread["id"] == sample.pid), None)


def position(thread: ThreadStack) -> tuple[tuple[str, str, int], ...]:
    """Where the Python code of a thread stands: equal positions in several samples mean that it has not moved."""
    return tuple((frame["file"], frame["function"], frame["line"]) for frame in python_frames(thread))


def same_position_in(samples: Iterable[StackSampled], thread: ThreadStack) -> int:
    """In how many samples the thread stands where it stands in this one."""
    target = position(thread)
    return sum(any(other["id"] == thread["id"] and position(other) == target for other in sample.threads) for sample in samples)
