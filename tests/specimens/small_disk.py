"""A small disk, for one specimen: a tmpfs of a few megabytes, mounted until the program ends.

Stands for the scratch volume that a user's checkpoints fill. Needs root. What a killed specimen leaves mounted is
removed at the next start.
"""

import atexit
import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

_PREFIX = "unstall-specimen-disk-"


def mount_small_disk(size_bytes: int) -> Path:
    """Mount an empty disk of this size and give its folder."""
    _remove_leftovers()
    folder = Path(tempfile.gettempdir(), f"{_PREFIX}{os.getpid()}")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)], check=True)
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child runs the same exit functions
        subprocess.run(["umount", "--lazy", str(folder)], check=False, stderr=subprocess.DEVNULL)
        with contextlib.suppress(OSError):
            folder.rmdir()


def _remove_leftovers() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if not Path("/proc", folder.name.removeprefix(_PREFIX)).exists():
            _remove(folder, os.getpid())
