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


def select_frames_called_by(machinery: tuple[str, ...], thread: ThreadStack, but: tuple[str, ...] = ()) -> list[Frame]:
    """The user's frames that code of such paths has called, or those of an installed trainer, innermost first; empty where it has
    called none, or where code of other paths stands between."""
    called: list[Frame] = []
    for frame in thread["frames"]:
        if is_native(frame):
            continue
        if any(part in frame["file"] for part in machinery):
            return [each for each in called if is_user_file(each["file"])] or select_trainer_frames(called)
        if any(part in frame["file"] for part in but):
            return []
        called.append(frame)
    return []


def select_user_frames(thread: ThreadStack) -> list[Frame]:
    """The user's own frames, innermost first."""
    return [frame for frame in thread["frames"] if not is_native(frame) and is_user_file(frame["file"])]


# A trainer that was installed as a package, such as a command of its own that reads the user's files: then no line is the user's
# own, and those of the trainer say most. Its package is the outermost one that is no framework and reads no command lines:
# what lies below it are libraries.
_PACKAGE = re.compile(r"/(?:site|dist)-packages/(?P<name>\w+)(?:/|\.py$)")
_FRAMEWORKS = frozenset({"tensorflow", "tensorflow_core", "tensorflow_estimator", "keras", "tf_keras", "torch", "jax", "flax"})
_COMMAND_LINES = frozenset({"absl", "click", "cyclopts", "fire", "hydra", "jsonargparse", "rich_click", "typer", "tyro"})


def select_trainer_frames(frames: Iterable[Frame]) -> list[Frame]:
    """Of frames, innermost first: those of the package of an installed trainer; empty where there is none."""
    named = [(frame, _package(frame)) for frame in frames]
    trainer = next((name for _, name in reversed(named) if name and name not in _FRAMEWORKS | _COMMAND_LINES), None)
    return [frame for frame, name in named if name is not None and name == trainer]


def _package(frame: Frame) -> str | None:
    found = None if is_native(frame) else _PACKAGE.search(frame["file"])
    return found["name"] if found else None


def select_program_frames(thread: ThreadStack) -> list[Frame]:
    """The user's own frames, innermost first; where there are none, those of an installed trainer."""
    return select_user_frames(thread) or select_trainer_frames(thread["frames"])


def format_where(frame: Frame, folder: str = "") -> str:
    """file:line, relative to the program's folder where it lies inside it."""
    return format_place(frame["file"], frame["line"], folder)


def format_place(file: str, line: int, folder: str = "") -> str:
    prefix = folder.rstrip("/") + "/"
    short = file[len(prefix) :] if folder and file.startswith(prefix) else file
    return f"{short}:{line}"


def find_program_folder(journal: Journal) -> str:
    started = journal.last(RunStarted)
    return started.folder if started else ""


def has_function(thread: ThreadStack, *names: str) -> bool:
    """Whether any frame's function contains one of the names (native names carry namespaces and templates)."""
    return any(name in frame["function"] for frame in thread["frames"] for name in names)


def select_python_frames(thread: ThreadStack) -> list[Frame]:
    return [frame for frame in thread["frames"] if not is_native(frame)]


def main_thread(sample: StackSampled) -> ThreadStack | None:
    """py-spy calls it MainThread; otherwise it is the one whose id is the process's."""
    for thread in sample.threads:
        if thread["name"] == "MainThread":
            return thread
    return next((thread for thread in sample.threads if thread["id"] == sample.pid), None)


def get_position(thread: ThreadStack) -> tuple[tuple[str, str, int], ...]:
    """Where the Python code of a thread stands: equal positions in several samples mean that it has not moved."""
    return tuple((frame["file"], frame["function"], frame["line"]) for frame in select_python_frames(thread))


def find_same_position(samples: Iterable[StackSampled], thread: ThreadStack) -> int:
    """In how many samples the thread stands where it stands in this one."""
    target = get_position(thread)
    return sum(
        any(other["id"] == thread["id"] and get_position(other) == target for other in sample.threads) for sample in samples
    )
