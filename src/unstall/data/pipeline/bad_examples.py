"""The examples that could not be used: each named once in the journal, counted, and too many of them end the run."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection

from unstall.base.errors import InvalidInputError
from unstall.data.example import DataSet
from unstall.journal.events import ExampleSkipped
from unstall.probe.core import probe

SHOWN = 5  # in the error that ends the run


def compute_max_bad(of: int, max_share: float) -> float:
    """How many of so many may be bad. Where some may, one alone is never too many: of a small data set it is a large share."""
    return max(max_share * of, min(1, of - 1)) if max_share else 0


class BadExample(Exception):
    """Of one row: what is wrong with it."""


class SkippedExamples:
    """Shared by all workers. A row that is in here is not tried again: it would fail, or hang, once in every epoch."""

    def __init__(self, data: DataSet, max_share: float, never: Collection[int] = ()) -> None:
        """Rows of `never` are not used, and are no bad ones."""
        self._data, self._max_share, self._never = data, max_share, frozenset(never)
        self._why: dict[int, str] = {}
        self._lock = threading.Lock()

    def __contains__(self, row: int) -> bool:
        return row in self._why or row in self._never

    def __len__(self) -> int:
        return len(self._why)

    @property
    def by_name(self) -> dict[str, str]:
        return {self._data.examples[row].name: why for row, why in list(self._why.items())}

    def add(self, row: int, why: str) -> None:
        with self._lock:
            if row in self._why:
                return
            self._why[row] = why
            count = len(self._why)
        current = probe.get_current()
        if current is not None:
            example = self._data.examples[row]
            file = "" if example.image is None else str(example.image.path)
            current.emit(ExampleSkipped(at=time.time(), name=example.name, file=file, why=why, count=count, share=self.share))

    @property
    def share(self) -> float:
        return len(self._why) / len(self._data.examples)

    def stop_if_too_many(self) -> None:
        if len(self._why) <= compute_max_bad(len(self._data.examples), self._max_share):
            return
        first = "".join(f"\n  {name}: {why}" for name, why in list(self.by_name.items())[:SHOWN])
        raise InvalidInputError(
            f"{len(self._why)} of {len(self._data.examples)} examples could not be used, {self.share:.1%}, "
            f"more than max_bad_fraction={self._max_share:.1%}. The first of them:{first}"
        )
