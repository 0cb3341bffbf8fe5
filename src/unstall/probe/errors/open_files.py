"""Limits of files: what keeps files open where no more may be opened, how many, of which kind, what the limit is, and which line
sets it; and how large a file may become.

Asked when the error is there. No file is opened for it, since none can be: the names are read by the numbers of the descriptors.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections import Counter
from types import TracebackType
from typing import Any, Optional

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

from unstall.probe.core.user_code import is_user_code, is_user_path
from unstall.probe.errors import returned_parts

MAX_LOOKED_AT = 8192  # descriptors
MAX_FILES = 50  # of the program's own
MAX_OBJECTS = 2000
MAX_KEPT = 3
MIN_KEPT = 8  # tensors in one list
_WRITING = re.compile(r"File too large|requested and \d+ written|write failed|unexpected pos \d|failed writing file")
_NOT_FILES = ("pipe:", "socket:", "anon_inode:", "/dev/", "/proc/", "/sys/", "/memfd:")


def find_open_files(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    if "Too many open files" not in str(error):
        return []
    rows: list[dict[str, Any]] = []
    if resource is not None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        rows.append({"what": "limit", "name": "open files", "value": soft, "hard": hard, "where": _set_at("RLIMIT_NOFILE")})
        rows += _kinds(soft)
    return rows + _tensors(traceback)


def find_size_limit(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """How large a file of this process may become, where a write took only a part."""
    if resource is None or not _WRITING.search(str(error)):
        return []
    size, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if size == resource.RLIM_INFINITY:
        return []
    row = {"what": "limit", "name": "file size", "value": size, "hard": hard, "where": _set_at("RLIMIT_FSIZE")}
    return [row, *_grown_lists(traceback)]


def _grown_lists(traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """Lists that lie in an object of the program's own, stand in the line that writes, and are appended to by another method."""
    rows: list[dict[str, Any]] = []
    while traceback is not None:
        frame, number, traceback = traceback.tb_frame, traceback.tb_lineno, traceback.tb_next
        owner, line = frame.f_locals.get("self"), linecache.getline(frame.f_code.co_filename, number)
        held = (
            getattr(owner, "__dict__", {})
            if is_user_code(frame.f_code) and type(getattr(owner, "__dict__", None)) is dict
            else {}
        )
        names = [name for name, value in held.items() if type(value) is list and re.search(rf"\bself\.{name}\b", line)]
        for name, at in returned_parts.find_stores(frame.f_code, type(owner).__name__, names, []) if names else []:
            row = {"what": "grown", "name": name, "count": len(held[name.partition(".")[2]])}
            rows.append({**row, "where": f"{frame.f_code.co_filename}:{at}"})
    return rows[:MAX_KEPT]


def _set_at(limit: str) -> Optional[str]:
    """The line of the program's own that sets the limit."""
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    files = [file for file in loaded if type(file) is str and file.endswith(".py") and is_user_path(file)]
    for file in list(dict.fromkeys(files))[:MAX_FILES]:
        for number, line in enumerate(linecache.getlines(file), 1):
            if "setrlimit(" in line and limit in line:
                return f"{file}:{number}"
    return None


def _kinds(limit: int) -> list[dict[str, Any]]:
    """Of the files that are open, how many end alike: .jpg, say. The most frequent suffix."""
    names: Counter[str] = Counter()
    last: dict[str, str] = {}
    for number in range(min(limit, MAX_LOOKED_AT)):
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
        except OSError:  # none of this number; or no such folder, on another system
            continue
        if not path.startswith(_NOT_FILES):
            suffix = os.path.splitext(path)[1]
            names[suffix] += 1
            last[suffix] = path
    if not names:
        return []
    suffix, count = names.most_common(1)[0]
    return [{"what": "files", "name": suffix, "count": count, "last": last[suffix]}] if count >= MIN_KEPT else []


def _tensors(traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """Lists of tensors in shared memory: each of these keeps a file open, where the system shares by descriptors."""
    torch, shared = sys.modules.get("torch"), sys.modules.get("torch.multiprocessing")
    if torch is None or shared is None or shared.get_sharing_strategy() != "file_descriptor":
        return []
    rows: list[dict[str, Any]] = []
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        for name, value in list(frame.f_locals.items()) if is_user_code(frame.f_code) else []:
            if type(value) is not list or len(rows) >= MAX_KEPT:
                continue
            count = sum(type(each) is torch.Tensor and each.is_shared() for each in value[:MAX_OBJECTS])
            grown = returned_parts.find_growth_lines(frame.f_code, name) if count >= MIN_KEPT else []
            if grown:
                rows.append({"what": "kept", "name": name, "count": count, "where": grown[-1]["where"]})
    return rows
