"""From an example's file to its pixels, in one worker's hands: timed, cached, and with one error for all that can be wrong."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from unstall.data.example import Example
from unstall.data.pipeline.bad_examples import BadExample
from unstall.data.pipeline.bucket_fetcher import Fetcher
from unstall.data.pipeline.cache import Cache
from unstall.data.pipeline.decoder import UNREADABLE, Facts, Pixels, compute_decoded_shape, decode, look, read, read_turn
from unstall.data.pipeline.sampler import EMPTY
from unstall.data.pipeline.throughput import Tally

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
