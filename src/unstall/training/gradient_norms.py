"""How large the gradients of each group of layers are over a run: told now and then, more often in its first minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from unstall.journal.events import GradientsMeasured
from unstall.training.telling import tell

EVERY_S, SHARE, MOST_S = 2.0, 0.02, 60.0  # at first; of the time since; and at most

Write = Callable[[int, Mapping[str, float]], None]


class GradientNorms:
    def __init__(self, write: Write | None = None, now: Callable[[], float] = time.monotonic) -> None:
        """`write`: where the same is shown beside the journal, by step."""
        self._write, self._now = write, now
        self._sums: dict[str, float] = {}
        self._updates = 0
        self._began = self._told_at = now()

    def see(self, step: int, norms: Mapping[str, float]) -> None:
        """Of an update that was applied."""
        for group, norm in norms.items():
            self._sums[group] = self._sums.get(group, 0.0) + norm
        self._updates += 1
        now = self._now()
        if now - self._told_at >= min(MOST_S, max(EVERY_S, SHARE * (now - self._began))):
            self.tell(step)

    def tell(self, step: int) -> None:
        if not self._updates or not self._sums:
            return
        means = {group: float(f"{total / self._updates:.5g}") for group, total in self._sums.items()}
        tell(GradientsMeasured(at=time.time(), step=step, updates=self._updates, norms=means))
        if self._write is not None:
            self._write(step, {f"gradients/{group}": norm for group, norm in means.items()})
        self._sums, self._updates, self._told_at = {}, 0, self._now()
