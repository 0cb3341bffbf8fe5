"""Where the program's data lies, as it passes by: names of files given to tf.data, found by glob, kept by a data set of Keras.

Only patterns are told, or files where they are few; the watcher looks at them from outside. A look at a list reads some of its
entries, and after enough looks none is taken any more.
"""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, Optional

from unstall.journal.events import DataMet, ImageNotRead, PatternMatchedNothing
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import find_calling_code, find_user_frame, find_user_place, is_user_code

MAX_FILE_EVENTS = 24
MAX_LOOKS = 400
MAX_ENTRIES = 2000  # of a list, spread over it
MAX_FOLDERS = 24
MAX_SUFFIXES = 4
MAX_LISTED_FILES = 24
LONGEST_PATH = 1000
_KEY = "data met"
_NOT_DATA = (".py", ".pyc", ".so", ".log", ".keras", ".weights.h5", ".ckpt", ".index")


class DataFileWatch:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._looks = 0
        self._events = 0
        self._reported: set[str] = set()

    @property
    def is_over(self) -> bool:
        return self._looks >= MAX_LOOKS or self._events >= MAX_FILE_EVENTS

    def meet(self, value: Any, how: str) -> None:
        if self.is_over:
            return
        self._looks += 1
        fresh = [path for path in summarize_paths(find_paths(value)) if path not in self._reported]
        if fresh:
            self._events += 1
            self._reported.update(fresh)
            self._probe.emit(DataMet(at=time.time(), paths=fresh, how=how))


def meet(probe: Probe, value: Any, how: str) -> None:
    seen: Optional[DataFileWatch] = probe.extras.get(_KEY)
    if seen is None:
        seen = probe.extras[_KEY] = DataFileWatch(probe)
    probe.shield.call("data met", seen.meet, value, how)


def find_paths(value: Any, depth: int = 0) -> list[str]:
    """The paths in a text, a list of texts, an array of them, or one level of these."""
    path = as_path(value)
    if path is not None:
        return [path]
    if isinstance(value, dict):
        return [path for part in list(value.values())[:16] for path in find_paths(part, depth + 1)] if depth < 2 else []
    if isinstance(value, (list, tuple)) and value:
        if as_path(value[0]) is not None:
            return [path for path in map(as_path, _spread(value)) if path is not None]
        is_nested = isinstance(value[0], (list, tuple, dict)) or hasattr(value[0], "dtype")
        return [path for part in list(value)[:16] for path in find_paths(part, depth + 1)] if depth < 2 and is_nested else []
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("U", "S", "O") and value.size:
        return [path for path in map(as_path, _spread(value.reshape(-1))) if path is not None]
    return []


def _spread(values: Any) -> Any:
    return values[:: max(1, len(values) // MAX_ENTRIES)]


def as_path(value: Any) -> Optional[str]:
    """A text or path object that can be the path of a data file; nothing is asked of any other object."""
    if isinstance(value, bytes) and len(value) < LONGEST_PATH:
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        text = value
    elif type(value).__module__.partition(".")[0] == "pathlib":
        text = str(value)
    else:
        return None
    is_path = 2 < len(text) < LONGEST_PATH and "\n" not in text and "://" not in text and ("/" in text or "." in text)
    return text if is_path and not text.endswith(_NOT_DATA) else None


def summarize_paths(paths: list[str]) -> list[str]:
    """The files themselves where they are few; else patterns, by folder and ending: a folder may hold other things, too."""
    whole = list(dict.fromkeys(os.path.abspath(path) for path in paths))
    if len(whole) <= MAX_LISTED_FILES:
        return whole
    kinds = list(dict.fromkeys((os.path.dirname(path), os.path.splitext(path)[1]) for path in whole))
    if len(kinds) <= MAX_FOLDERS:
        return [f"{glob.escape(folder)}/*{glob.escape(suffix)}" for folder, suffix in kinds]
    common = os.path.commonpath([folder for folder, _ in kinds])
    suffixes = list(dict.fromkeys(suffix for _, suffix in kinds))[:MAX_SUFFIXES]
    return [f"{glob.escape(common)}/**/*{glob.escape(suffix)}" for suffix in suffixes] if common.count("/") > 1 else []


# File patterns: what they found, which may be the data; and that they match nothing, on which many programs then train.


MAX_PATTERN_EVENTS = 50
MAX_SEEN = 200
MAX_FRAMES, MAX_CALLS = 200, 8


def install_patterns(module: ModuleType, probe: Probe) -> None:
    """glob, and tensorflow.python.lib.io.file_io (tf.io.gfile.glob)."""
    name = "glob" if module.__name__ == "glob" else "get_matching_files_v2"
    wrap(module, name, _watched(probe))


def _watched(probe: Probe) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    reported = seen = 0

    def record(patterns: Any) -> None:
        nonlocal reported
        where, within = find_user_place(4), _list_library_calls(find_user_frame(4))
        for pattern in patterns if isinstance(patterns, (list, tuple)) else [patterns]:
            reported += 1
            if reported <= MAX_PATTERN_EVENTS and where is not None:
                probe.emit(PatternMatchedNothing(at=time.time(), pattern=str(pattern)[:500], where=where, within=within))

    def see(found: list[Any]) -> None:
        nonlocal seen
        seen += 1
        if seen <= MAX_SEEN and is_user_code(find_calling_code(3)):  # libraries look for files of their own
            meet(probe, found, "glob")

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def glob(pathname: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(pathname, *args, **kwargs)
            if probe.active and isinstance(found, list):
                probe.shield.call("patterns", record, pathname) if not found else probe.shield.call("patterns", see, found)
            return found

        return glob

    return make


def _list_library_calls(frame: Optional[FrameType]) -> list[str]:
    """file:line of the program's own frames above this one that have called a library."""
    found: list[str] = []
    is_library = False
    for _ in range(MAX_FRAMES):
        frame = frame.f_back if frame is not None else None
        if frame is None or len(found) >= MAX_CALLS:
            break
        is_own = is_user_code(frame.f_code)
        if is_own and is_library:
            found.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        is_library = not is_own
    return found


# Images that OpenCV could not read: `cv2.imread` gives None and no error, and the program fails later, or not at all.


MAX_IMAGE_EVENTS = 50


def install_images(module: ModuleType, probe: Probe) -> None:
    """cv2"""
    reported = 0

    def record(path: Any) -> None:
        nonlocal reported
        reported += 1
        if reported <= MAX_IMAGE_EVENTS and isinstance(path, (str, os.PathLike)):
            name = os.fspath(path)
            probe.emit(ImageNotRead(at=time.time(), path=str(name)[:500], exists=os.path.exists(name), where=find_user_place()))

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def imread(*args: Any, **kwargs: Any) -> Any:
            image = original(*args, **kwargs)
            if image is None and probe.active:
                probe.shield.call("images", record, args[0] if args else kwargs.get("filename"))
            return image

        return imread

    wrap(module, "imread", make)
