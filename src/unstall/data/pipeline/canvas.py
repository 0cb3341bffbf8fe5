"""The memory that images are drawn into: used again as soon as nothing refers to it, and blank where nothing was drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from unstall.data.augment.geometry import Area
from unstall.data.pipeline.decoder import Pixels

ALIGNMENT = 64  # TensorFlow and JAX take an array as it is if it begins at a multiple of this; others they copy
NOTHING = Area(0, 0, 0, 0)


class Canvas:
    """The place of one image. It knows which part of it was drawn on when it was last used: the rest is blank already, and
    filling it again would cost as much as a twentieth of decoding a small image."""

    __slots__ = ("_blank", "_drawn", "_place", "pixels")

    def __init__(self, pixels: Pixels, blank: Pixels, drawn: list[Area], place: int) -> None:
        self.pixels = pixels
        self._blank, self._drawn, self._place = blank, drawn, place

    def begin(self) -> Area:
        """What is drawn on it now. Until `end` all of it counts as drawn on: drawing may fail half-way."""
        drawn = self._drawn[self._place]
        self._drawn[self._place] = whole(self.pixels)
        return drawn

    def end(self, drawn: Area) -> None:
        """Everything but this is blank."""
        self._drawn[self._place] = drawn

    def clear(self, area: Area, but: Area = NOTHING) -> None:
        for strip in outside(but, area):
            part(self.pixels, strip)[:] = part(self._blank, strip)


def whole(pixels: Pixels) -> Area:
    return Area(0, 0, pixels.shape[1], pixels.shape[0])


def part(pixels: Pixels, area: Area) -> Pixels:
    return pixels[area.top : area.bottom, area.left : area.right]


def outside(inner: Area, outer: Area) -> Iterator[Area]:
    """The strips of the outer area that the inner one leaves free."""
    left, top = max(inner.left, outer.left), max(inner.top, outer.top)
    right, bottom = min(inner.right, outer.right), min(inner.bottom, outer.bottom)
    if left >= right or top >= bottom:
        left, top, right, bottom = outer.left, outer.top, outer.left, outer.top
    if top > outer.top:
        yield Area(outer.left, outer.top, outer.right, top)
    if bottom < outer.bottom:
        yield Area(outer.left, bottom, outer.right, outer.bottom)
    if left > outer.left:
        yield Area(outer.left, top, left, bottom)
    if right < outer.right and top < bottom:
        yield Area(right, top, outer.right, bottom)


def _references(owners: list[Pixels], index: int) -> int:
    return sys.getrefcount(owners[index])


ALONE = _references([np.empty(1, np.uint8)], 0)  # what the count says of an array that nobody else knows


class Canvases:
    """The image arrays of batches.

    A fresh array costs a page fault for every 4 KiB. Every view of an array, every framework's tensor on it and every
    thread that still writes to it holds a reference to its owner, so an owner that is referred to from here alone is free.
    """

    def __init__(self, blank: Pixels, batch_size: int, keep: int) -> None:
        self._blank, self._batch_size, self._keep = blank, batch_size, keep
        self._owners: list[Pixels] = []
        self._drawn: list[list[Area]] = []  # of each owner, for each place

    def take(self) -> tuple[Pixels, list[Canvas]]:
        """The images of a batch, and each of them to be drawn on."""
        free = next((index for index in range(len(self._owners)) if _references(self._owners, index) == ALONE), None)
        count = self._batch_size * self._blank.size
        if free is None:
            owner, drawn = np.empty(count + ALIGNMENT, np.uint8), [whole(self._blank)] * self._batch_size
            if len(self._owners) < self._keep:
                self._owners.append(owner)
                self._drawn.append(drawn)
        else:
            owner, drawn = self._owners[free], self._drawn[free]
        begin = -owner.ctypes.data % ALIGNMENT
        images = owner[begin : begin + count].reshape(self._batch_size, *self._blank.shape)
        return images, [Canvas(images[place], self._blank, drawn, place) for place in range(self._batch_size)]

    def take_separate(self) -> Canvas:
        """A place of the same kind that is part of no batch."""
        return Canvas(np.empty_like(self._blank), self._blank, [whole(self._blank)], 0)
