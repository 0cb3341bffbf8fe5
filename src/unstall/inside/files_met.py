"""Files that the program had to do with when an error ended it, and the room on their disks.

A file is met if it is open, or if a variable of the user's own functions in the traceback holds its path. Looking at a
disk that is dead can block, so it is done beside, and not waited for longer than a second.
"""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType
from typing import Any, Optional

from unstall.inside.places import is_user_code
from unstall.inside.probe import Probe
from unstall.journal.events import DiskSeen, FileMet

WAIT_S = 1.0
MOST_VARIABLES = 200
MOST_FILES = 20
_NOT_DATA = (".py", ".pyc", ".so", ".pth", "-journal")
_SYSTEM = ("/proc/", "/dev/", "/sys/", "/usr/", "/lib/", "/etc/", "/opt/")


def tell(probe: Probe, traceback: Optional[TracebackType]) -> None:
    candidates = [*_open_files(), *_variables(traceback)]
    look = (probe.shield.call, "files", _look, probe, candidates)
    looker = threading.Thread(target=look[0], args=look[1:], name="unstall-files", daemon=True)
    looker.start()
    looker.join(WAIT_S)


def _look(probe: Probe, candidates: list[tuple[str, str]]) -> None:
    folders: dict[str, None] = {working_folder() or "/": None}
    for path, how in candidates:
        if os.path.isfile(path):
            probe.emit(FileMet(at=time.time(), path=path, how=how))
            folders[os.path.dirname(path)] = None
        elif os.path.isdir(path):
            folders[path] = None
        else:
            folders[os.path.dirname(path)] = None
    seen: set[int] = set()
    for folder in folders:
        _tell_room(probe, folder, seen)


def working_folder() -> Optional[str]:
    """None: it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _tell_room(probe: Probe, folder: str, seen: set[int]) -> None:
    try:
        device, room = os.stat(folder).st_dev, os.statvfs(folder)
    except OSError:
        return
    if device in seen:
        return
    seen.add(device)
    mount = os.path.abspath(folder)
    while mount != "/" and os.stat(os.path.dirname(mount)).st_dev == device:
        mount = os.path.dirname(mount)
    probe.emit(
        DiskSeen(
            at=time.time(),
            path=folder,
            mount=mount,
            free_bytes=room.f_bavail * room.f_frsize,
            total_bytes=room.f_blocks * room.f_frsize,
            free_inodes=room.f_favail if room.f_files else 1,  # some file systems count none
        )
    )


def _open_files() -> list[tuple[str, str]]:
    result = []
    for number in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if path.startswith("/") and not path.startswith(_SYSTEM) and not path.endswith(_NOT_DATA) and "unstall" not in path:
            result.append((path, "open"))
    return result[:MOST_FILES]


def _variables(traceback: Optional[TracebackType]) -> list[tuple[str, str]]:
    """Innermost last, so that the file met last stands last."""
    result: list[tuple[str, str]] = []
    looked = 0
    while traceback is not None:
        if is_user_code(traceback.tb_frame.f_code):
            for name, value in list(traceback.tb_frame.f_locals.items()):
                looked += 1
                path = _as_path(value)
                if path is not None and looked <= MOST_VARIABLES:
                    result.append((path, name))
        traceback = traceback.tb_next
    return result[-MOST_FILES:]


def _as_path(value: Any) -> Optional[str]:
    """A text or path object that could be a path; nothing is asked of any other object."""
    if type(value) is bytes and len(value) < 1000 and b"/" in value:
        value = value.decode("utf-8", "replace")
    if type(value) is str:
        text = value
    elif type(value).__module__ == "pathlib":
        text = str(value)
    else:
        return None
    fits = 0 < len(text) < 1000 and "\n" not in text and ("/" in text or "." in text) and not text.endswith(_NOT_DATA)
    return os.path.abspath(text) if fits else None
