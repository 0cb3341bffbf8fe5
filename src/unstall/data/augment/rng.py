"""Random numbers by position: those of (seed, epoch, row) are the same whenever, wherever and in whatever order they are drawn.

Philox is counter-based: key and counter say which numbers come, and no state is carried from one example to the next. Only
its raw words are used, which NumPy guarantees never to change; what a Generator makes of them, it may change.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ORDER, EXAMPLE, SUBSTITUTE, TILE = range(4)  # what the numbers are for: no two purposes share any. TILE + 0 … 3: of a mosaic
BLOCK = 64  # words drawn at once


def draw_raw_words(seed: int, purpose: int, epoch: int, row: int, count: int) -> npt.NDArray[np.uint64]:
    return _philox(seed, purpose, epoch, row).random_raw(count)


def _philox(seed: int, purpose: int, epoch: int, row: int) -> np.random.Philox:
    key = np.array([seed, purpose], np.uint64)
    return np.random.Philox(key=key, counter=np.array([0, 0, row, epoch], np.uint64))


class Rng:
    def __init__(self, seed: int, epoch: int, row: int, purpose: int = EXAMPLE) -> None:
        self._bits = _philox(seed, purpose, epoch, row)
        self._left: list[float] = []

    def numbers(self, count: int) -> npt.NDArray[np.float64]:
        """So many at once, each at least 0 and below 1."""
        words = self._bits.random_raw(count) >> np.uint64(11)
        return words.astype(np.float64) * 2.0**-53

    def number(self) -> float:
        if not self._left:
            self._left = self.numbers(BLOCK).tolist()
        return self._left.pop()

    def between(self, least: float, most: float) -> float:
        return least + (most - least) * self.number()

    def happens(self, share: float) -> bool:
        return self.number() < share

    def index(self, count: int) -> int:
        return int(self.number() * count)
