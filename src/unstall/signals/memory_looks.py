"""The memory of a process tree, looked at many times a second: a step holds the most for a moment only.

What a run holds in one step after the other is steadier than its one highest moment, in which by chance two things lay in memory
at once. A thread of the watcher looks; what it costs is bounded by itself.
"""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

EVERY_S = 0.02
COST_SHARE = 0.005  # of a core, at the most: what takes long is done more seldom
MOST_LOOKS = 2000
WINDOWS = 4  # that the time since the last question is divided into
PROCESSES = 16
_PAGE = resource.getpagesize()


class MemoryLooks:
    """`most()` gives the most that was held in each part of the time since it was asked before."""

    def __init__(self, pid: int, tree: Callable[[], Sequence[int]]) -> None:
        """`tree`: the process and its descendants, as they are known."""
        self._pid = pid
        self._tree = tree
        self._looks: list[int] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._look, name="memory looks", daemon=True)
        self._thread.start()

    @property
    def is_looking(self) -> bool:
        return self._thread.is_alive()

    def most(self) -> list[int]:
        with self._lock:
            looks, self._looks = self._looks, []
        size = max(1, -(-len(looks) // WINDOWS))
        return [max(looks[start : start + size]) for start in range(0, len(looks), size)]

    def _look(self) -> None:
        """Until the process is gone."""
        while True:
            began = time.thread_time()
            own = resident_bytes(self._pid)
            if not own:
                return
            held = own + sum(resident_bytes(pid) for pid in self._tree()[:PROCESSES] if pid != self._pid)
            with self._lock:
                self._looks.append(held)
                if len(self._looks) > MOST_LOOKS:
                    del self._looks[: MOST_LOOKS // 2]
            time.sleep(max(EVERY_S, (time.thread_time() - began) / COST_SHARE))


def resident_bytes(pid: int) -> int:
    """0 of a process that is gone, or has ended and was not waited for yet."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
