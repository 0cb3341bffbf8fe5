"""Files and folders that only their owner may read, whatever the umask: all that lies in a run folder.

A run folder holds what a program printed when it failed, its source and its data's paths. A folder that the user has made keeps
the mode that it has, and a file that the user has asked for by name (`--json PATH`) follows the umask.

Standard library only, syntax of Python 3.7: it also runs inside the watched program.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_private_folder(path: Path) -> None:
    """With those above it, which follow the umask. One that is there keeps its mode."""
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)


def open_private(path: str, flags: int) -> int:
    """For `open(path, "w", opener=private_opener)`."""
    return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)


def write_private(path: Path, content: str | bytes) -> None:
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with open(path, "wb", opener=open_private) as file:
        file.write(data)


def write_whole(path: Path, text: str) -> None:
    """Aside, synced and renamed: whoever reads, even after a power cut, finds all of it or what was there before."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with open(aside, "w", encoding="utf-8", opener=open_private) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        if aside.exists():  # it was not renamed
            aside.unlink()


def make_new_files_private() -> None:
    """For a process that writes nothing but the files of a run: the umask of a process that belongs to Unstall alone."""
    os.umask(os.umask(0o077) | 0o077)
