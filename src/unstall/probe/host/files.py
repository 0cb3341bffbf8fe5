"""Files that the program had to do with when an error ended it, and the room on their disks.

A file is met if it is open, if a variable of the user's own functions in the traceback holds its path, or if the library that
raised the error was reading it: its frames hold the file or the path. Looking at a disk that is dead can block, so it is done
beside, and not waited for longer than a second.
"""

from __future__ import annotations

import linecache
import os
import re
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Optional, Tuple

from unstall.journal.events import DiskSeen, FileMet
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import is_user_code

WAIT_S = 1.0
MAX_VARIABLES = 200
MAX_FILES = 20
MAX_FRAMES = 20
_NOT_DATA = (".py", ".pyc", ".so", "-journal")
_SYSTEM = ("/proc/", "/dev/", "/sys/", "/usr/", "/lib/", "/etc/", "/opt/")
_READERS = (
    "PIL",
    "numpy",
    "zipfile",
    "gzip",
    "tarfile",
    "bz2",
    "lzma",
    "torch",
    "h5py",
    "pickle",
    "imageio",
    "pandas",
)
_OF_A_READER = ("filename", "file", "path", "fname", "name", "filepath", "fp", "_fp", "f", "fid", "fileobj", "opened_file")
Candidate = Tuple[str, str, bool]  # path, how, whether it stands in a line of the traceback


def report(probe: Probe, traceback: Optional[TracebackType]) -> None:
    candidates = [*_open_files(), *_variables(traceback), *_read_by_a_library(traceback)]
    look = (probe.shield.call, "files", _look, probe, candidates)
    looker = threading.Thread(target=look[0], args=look[1:], name="unstall-files", daemon=True)
    looker.start()
    looker.join(WAIT_S)


def _look(probe: Probe, candidates: list[Candidate]) -> None:
    folders: dict[str, None] = {get_working_folder() or "/": None}
    for path, how, in_line in candidates:
        if os.path.isfile(path):
            probe.emit(FileMet(at=time.time(), path=path, how=how, in_line=in_line))
            folders[os.path.dirname(path)] = None
        elif os.path.isdir(path):
            folders[path] = None
        else:
            folders[os.path.dirname(path)] = None
    seen: set[int] = set()
    for folder in folders:
        _report_disk_space(probe, folder, seen)


def get_working_folder() -> Optional[str]:
    """None: it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _report_disk_space(probe: Probe, folder: str, seen: set[int]) -> None:
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


def _open_files() -> list[Candidate]:
    result = []
    for number in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if path.startswith("/") and not path.startswith(_SYSTEM) and not path.endswith(_NOT_DATA) and "unstall" not in path:
            result.append((path, "open", False))
    return result[:MAX_FILES]


def _variables(traceback: Optional[TracebackType]) -> list[Candidate]:
    """Innermost last, so that the file met last stands last."""
    result: list[Candidate] = []
    looked = 0
    while traceback is not None:
        if is_user_code(traceback.tb_frame.f_code):
            line = linecache.getline(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
            for name, value in list(traceback.tb_frame.f_locals.items()):
                looked += 1
                path = _as_path(value)
                if path is not None and looked <= MAX_VARIABLES:
                    result.append((path, name, re.search(rf"\b{re.escape(name)}\b", line) is not None))
        traceback = traceback.tb_next
    return result[-MAX_FILES:]


def _read_by_a_library(traceback: Optional[TracebackType]) -> list[Candidate]:
    """The files in the frames between the program's innermost line and the error: open, or given as a path."""
    below: list[FrameType] = []
    while traceback is not None:
        below = [] if is_user_code(traceback.tb_frame.f_code) else [*below, traceback.tb_frame]
        traceback = traceback.tb_next
    result: list[Candidate] = []
    for frame in below[-MAX_FRAMES:]:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _READERS:
            continue
        values = dict(frame.f_locals)
        held = getattr(values.get("self"), "__dict__", None)  # of the object of the library: an image, an archive
        for names in (values, held if type(held) is dict else {}):
            paths = (_file_of(names[name]) for name in _OF_A_READER if name in names)
            result += [(path, "read", False) for path in paths if path is not None and not path.startswith(_SYSTEM)]
    return result[-MAX_FILES:]


def _file_of(value: Any) -> Optional[str]:
    """The path of an open file of Python's own, or of a text that is one."""
    name = getattr(value, "name", None) if type(value).__module__ in {"_io", "gzip"} else value
    return _as_path(name)


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
