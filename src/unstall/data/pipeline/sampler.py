"""Which example stands where: a permutation of (seed, epoch), so a stream continues from any step as if it had never ended."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unstall.base.errors import InvalidInputError
from unstall.data.augment.rng import ORDER, draw_raw_words
from unstall.data.example import Integers

EMPTY = -1  # the row of a place that holds no example


def draw_permutation(seed: int, epoch: int, count: int) -> Integers:
    """Rows in the order of random keys. Only raw words and a stable sort: the same with every version of NumPy."""
    return np.argsort(draw_raw_words(seed, ORDER, epoch, 0, count), kind="stable").astype(np.int32)


class Order:
    """The rows of each batch of each epoch. The order is that of all workers together, however many share it."""

    def __init__(self, count: int, batch_size: int, seed: int, for_training: bool, worker: int = 0, workers: int = 1) -> None:
        if count < (batch_size if for_training else 1):
            needed = f"at least batch_size={batch_size} examples" if for_training else "at least one example"
            raise InvalidInputError(f"expected {needed}. Received: {count}")
        self._count, self._batch_size, self._seed, self._for_training = count, batch_size, seed, for_training
        share = batch_size // workers
        self._share = slice(worker * share, (worker + 1) * share)
        self._epochs: dict[int, Integers] = {}  # that in use and the one being made ahead

    @property
    def steps_per_epoch(self) -> int:
        whole, rest = divmod(self._count, self._batch_size)
        return whole + (1 if rest and not self._for_training else 0)

    def rows(self, epoch: int, step: int) -> Integers:
        """Of this worker's part of the batch."""
        return self.list_all_rows(epoch, step)[self._share]

    def list_all_rows(self, epoch: int, step: int) -> Integers:
        rows = self._of(epoch)[step * self._batch_size : (step + 1) * self._batch_size]
        empty = self._batch_size - len(rows)
        return np.pad(rows, (0, empty), constant_values=EMPTY) if empty else rows

    def steps(self, epoch: int, from_step: int, epochs: int | None) -> Iterator[tuple[int, int]]:
        """(epoch, step) from there on, for so many epochs (the first may be a part of one) or, for None, without end."""
        if epoch < 0 or not 0 <= from_step <= self.steps_per_epoch:
            at = f"epoch={epoch}, from_step={from_step}"
            raise InvalidInputError(f"expected an epoch from 0 on and a step of 0 to {self.steps_per_epoch}. Received: {at}")
        return self._steps(epoch, from_step, epochs)

    def _steps(self, epoch: int, from_step: int, epochs: int | None) -> Iterator[tuple[int, int]]:
        last = None if epochs is None else epoch + epochs
        while last is None or epoch < last:
            for step in range(from_step, self.steps_per_epoch):
                yield epoch, step
            epoch, from_step = epoch + 1, 0

    def _of(self, epoch: int) -> Integers:
        if epoch not in self._epochs:
            while len(self._epochs) > 1:
                self._epochs.pop(min(self._epochs))
            everything = np.arange(self._count, dtype=np.int32)
            self._epochs[epoch] = draw_permutation(self._seed, epoch, self._count) if self._for_training else everything
        return self._epochs[epoch]
