"""A batch as two arrays, its images and the bytes of everything else, and back.

Each array that is handed to TensorFlow is paid for with the interpreter's lock held, and eleven cost more than decoding an image.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unstall.data.pipeline.batch import Batch
from unstall.data.pipeline.decoding import Pixels
from unstall.data.pipeline.settings import Settings


class Part(NamedTuple):
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int  # in bytes


class Layout:
    """Where each array stands among the bytes: the widest numbers first, so that each begins where its numbers may."""

    def __init__(self, settings: Settings) -> None:
        images = np.empty((settings.batch_size, 0, 0, 3), np.uint8)
        arrays = Batch.empty(images, settings.most_boxes, 0, 0).arrays()
        del arrays["images"]
        kinds = {name: (array.dtype, array.shape) for name, array in arrays.items()}
        kinds |= {name: (np.dtype(np.int64), ()) for name in ("epoch", "step")}
        self.parts: list[Part] = []
        self.bytes = 0
        for name, (dtype, shape) in sorted(kinds.items(), key=lambda kind: -kind[1][0].itemsize):
            end = self.bytes + dtype.itemsize * math.prod(shape)
            self.parts.append(Part(name, dtype, shape, self.bytes, end))
            self.bytes = end

    def packed(self, batch: Batch) -> Pixels:
        packed = np.empty(self.bytes, np.uint8)
        for part, array in zip(self.parts, self._arrays(packed).values(), strict=True):
            array[...] = getattr(batch, part.name)
        return packed

    def batch(self, images: Pixels, packed: Pixels) -> Batch:
        """Its arrays are views of the bytes."""
        arrays = self._arrays(packed)
        return Batch(images=images, epoch=int(arrays.pop("epoch")), step=int(arrays.pop("step")), **arrays)

    def _arrays(self, packed: Pixels) -> dict[str, np.ndarray]:
        return {part.name: packed[part.begin : part.end].view(part.dtype).reshape(part.shape) for part in self.parts}
