"""What changed since the last good run, said with the verdict: within its time, and without harm if it cannot be."""

from __future__ import annotations

import threading
from typing import Any

from unstall.supervisor.watch import Watch

MOST_S = 5.0  # at the end of a run
MOST_WHILE_RUNNING_S = 2.0  # the watching waits meanwhile


def since_last_good(watch: Watch, story: dict[str, Any], is_over: bool) -> dict[str, Any] | None:
    """As `compare.since_last_good.told` has it; None also where there was not time enough."""
    found: list[dict[str, Any]] = []

    def look() -> None:
        from unstall.compare.since_last_good import told

        answer = told(watch.run, story)
        if answer is not None:
            found.append(answer)

    thread = threading.Thread(target=lambda: watch.guarded("compare", look), name="unstall-compare", daemon=True)
    thread.start()
    thread.join(MOST_S if is_over else MOST_WHILE_RUNNING_S)
    return found[0] if found else None
