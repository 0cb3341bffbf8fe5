"""How large the updates of a run are: the rate, and the gradients of each group of layers. Told now and then, more often in its
first minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from unstall.journal.events import UpdatesMeasured
from unstall.training.telling import tell

EVERY_S, SHARE, MOST_S = 2.0, 0.02, 60.0  # at first; of the time since; and at most

Write = Callable[[int, Mapping[str, float]], None]


class Updates:
    def __init__(self, write: Write | None = None, now: Callable[[], float] = time.monotonic) -> None:
        """`write`: where the norms are shown beside the journal, by step."""
        self._write, self._now = write, now
        self._began = self._told_at = now()
        self._sums: dict[str, float] = {}
        self._norm, self._rate, self._count, self._step = 0.0, 0.0, 0, 0

    def see(self, step: int, rate: float, norm: float, norms: Mapping[str, float]) -> None:
        """One that was applied: its rate, the norm of its gradients, and that of each group."""
        for group, value in norms.items():
            self._sums[group] = self._sums.get(group, 0.0) + value
        self._norm += norm
        self._count, self._step, self._rate = self._count + 1, step, rate
        now = self._now()
        if now - self._told_at >= min(MOST_S, max(EVERY_S, SHARE * (now - self._began))):
            self.tell()

    def tell(self) -> None:
        """What was not told yet."""
        if not self._count:
            return
        step, means = self._step, {group: _short(total / self._count) for group, total in self._sums.items()}
        tell(
            UpdatesMeasured(
                at=time.time(),
                step=step,
                updates=self._count,
                rate=_short(self._rate),
                norm=_short(self._norm / self._count),
                norms=means,
            )
        )
        if self._write is not None:
            self._write(step, {f"gradients/{group}": norm for group, norm in means.items()})
        self._told_at = self._now()
        self._sums, self._norm, self._count = {}, 0.0, 0


def _short(value: float) -> float:
    return float(f"{value:.5g}")
