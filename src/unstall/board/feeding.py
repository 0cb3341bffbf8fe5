"""What a board of runs in a bucket shows: copies on the disk, brought again and again while somebody looks at it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from unstall.errors import UnstallError
from unstall.storage.mirroring import LOOK_EVERY_S, Mirror

LOOKED_AT_S = 60.0  # after the last request nobody looks any more: a bucket counts what it is asked


def feed(mirror: Mirror, asked_at: Callable[[], float], ended: threading.Event, say: Callable[[str], None]) -> None:
    """Until it has ended. `asked_at`: when a page was last asked for, by the monotonic clock. An outage is said, once."""
    is_away = False
    while not ended.is_set():
        if time.monotonic() - asked_at() < LOOKED_AT_S:
            try:
                mirror.look()
            except UnstallError as error:
                if not is_away:
                    say(f"{error} The board shows what was there before.")
                is_away = True
            else:
                is_away = False
        ended.wait(LOOK_EVERY_S)
