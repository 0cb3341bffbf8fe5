"""On what a path is stored: the kind of file system, the device, and whether that turns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from unstall.journal.writer import REMOTE_FILE_SYSTEMS
from unstall.storage.urls import get_scheme, is_bucket, split_url


def find_filesystem(path: Path) -> dict[str, Any]:
    """kind (ext4, nfs, gs, ...), device, is_remote, is_rotational (None: not known). Empty where the kernel does not say."""
    if is_bucket(path):
        return {"kind": get_scheme(str(path)), "device": split_url(str(path))[0], "is_remote": True, "is_rotational": None}
    try:
        number = os.stat(path).st_dev  # noqa: PTH116 - of the folder as it is, links followed
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    wanted = f"{os.major(number)}:{os.minor(number)}"
    for line in lines:
        before, _, after = line.partition(" - ")
        if before.split()[2:3] == [wanted] and after:
            kind, device = after.split()[:2]
            remote = kind in REMOTE_FILE_SYSTEMS or kind.startswith("fuse.")
            return {"kind": kind, "device": device, "is_remote": remote, "is_rotational": _turns(wanted)}
    return {}


def _turns(number: str) -> bool | None:
    """Of a partition the disk is asked that it is on."""
    device = Path("/sys/dev/block", number)
    for folder in (device, device.resolve().parent):
        try:
            return (folder / "queue" / "rotational").read_text().strip() == "1"
        except OSError:
            continue
    return None
