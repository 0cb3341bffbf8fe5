"""From an example's file to its pixels, in one input thread: timed, cached, and with one error for all that can be wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from time import perf_counter

import numpy as np

from unstall.base.errors import InvalidInputError
from unstall.data.example import DataSet, Example
from unstall.data.pipeline.autotune import Tally
from unstall.data.pipeline.bucket_fetcher import Fetcher
from unstall.data.pipeline.cache import Cache
from unstall.data.pipeline.decoder import UNREADABLE, Facts, Pixels, compute_decoded_shape, decode, look, read, read_turn
from unstall.data.pipeline.sampler import EMPTY
from unstall.journal.events import ExampleSkipped
from unstall.probe.core import probe

MAX_SCRATCH_BYTES = 64 * 2**20  # kept by a worker from one image to the next


class ThreadContext:
    """What one worker has at hand: the row it is at, where it writes its times, and memory to read and decode into."""

    def __init__(self) -> None:
        self.row = EMPTY
        self.is_given_up = False  # nobody waits for what it makes
        self.tally = Tally()
        self._decoded, self._encoded = Scratch(), Scratch()

    def for_pixels(self, shape: tuple[int, int, int]) -> Pixels:
        """Its contents last until the next call."""
        return self._decoded.of(shape[0] * shape[1] * shape[2]).reshape(shape)

    def for_bytes(self, count: int) -> memoryview:
        """The same. Fresh memory for each file costs a fault for every page of it: TensorFlow has the allocator keep none."""
        return self._encoded.of(count).data


class Scratch:
    """Memory that is used again."""

    def __init__(self) -> None:
        self._kept: Pixels = np.empty(0, np.uint8)

    def of(self, count: int) -> Pixels:
        if count > MAX_SCRATCH_BYTES:
            return np.empty(count, np.uint8)
        if count > len(self._kept):
            self._kept = np.empty(count, np.uint8)
        return self._kept[:count]


class ImageLoader:
    """One example's image; its file is read when something is first asked that no cache knows."""

    def __init__(self, example: Example, row: int, cache: Cache, context: ThreadContext, fetcher: Fetcher | None = None) -> None:
        if example.image is None:
            raise BadExample("its image is not there")
        self._row, self._source, self._cache, self._context, self._fetcher = row, example.image, cache, context, fetcher
        self._said = example.width, example.height
        self._encoded: memoryview | None = None

    def facts(self, max_pixels: int) -> Facts:
        try:
            return read_turn(look(self._bytes(), max_pixels), self._bytes(), self._said)
        except UNREADABLE as error:
            raise create_bad_example(error) from error

    def pixels(self, facts: Facts, reduction: int, into: Pixels | None) -> Pixels:
        """The whole image at 1/reduction: `into` itself where that is given and could be decoded into."""
        context = self._context
        kept = self._cache.get(self._row, self._source, reduction)
        if kept is not None and kept.shape == compute_decoded_shape(facts, reduction):
            context.tally.cache_hits += 1
            return kept
        buffer = context.for_pixels(compute_decoded_shape(facts, reduction)) if into is None else into
        try:
            encoded = self._bytes()
            began = perf_counter()
            pixels = decode(encoded, facts, reduction, buffer)
        except UNREADABLE as error:
            raise create_bad_example(error) from error
        context.tally.decode_s += perf_counter() - began
        self._cache.offer(self._row, self._source, reduction, pixels)
        return into if into is not None and np.may_share_memory(pixels, into) else pixels

    def _bytes(self) -> memoryview:
        if self._encoded is None:
            began = perf_counter()
            fetched = None if self._fetcher is None else self._fetcher.take(self._source)
            self._encoded = read(self._source, self._context.for_bytes) if fetched is None else fetched
            self._context.tally.read_s += perf_counter() - began
            self._context.tally.read_bytes += len(self._encoded)
        return self._encoded


def create_bad_example(error: Exception) -> BadExample:
    """In words: what the system says of a file, what a decoder says without the names of its functions. A message that is only a
    number or a name means nothing without the kind of error."""
    said = (isinstance(error, OSError) and error.strerror) or str(error).rpartition("(): ")[2]
    return BadExample(said if " " in said else f"{type(error).__name__}: {said}".removesuffix(": "))


# The examples that could not be used: each named once in the journal, counted, and too many of them end the run.


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
