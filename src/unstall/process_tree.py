"""A process with all that it has started."""

from __future__ import annotations

import contextlib

import psutil


def kill_tree(pid: int) -> None:
    """At once. The process itself is still to be waited for by its parent."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        for each in family:
            with contextlib.suppress(psutil.Error):
                each.kill()  # psutil makes sure that the number still means the same process
