"""The memory that images are drawn into: used again as soon as nothing refers to it, and blank where nothing was drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from unstall.data.augment.geometry import Area, Placement, Resize, Scene, View, fit_window
from unstall.data.example import UNKNOWN_CLASS, DataSet, Example, Flags, Floats, Integers
from unstall.data.pipeline.decoder import Facts, Pixels, compute_decoded_shape

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
        self._drawn[self._place] = get_whole_area(self.pixels)
        return drawn

    def end(self, drawn: Area) -> None:
        """Everything but this is blank."""
        self._drawn[self._place] = drawn

    def clear(self, area: Area, but: Area = NOTHING) -> None:
        for strip in list_outer_strips(but, area):
            crop(self.pixels, strip)[:] = crop(self._blank, strip)


def get_whole_area(pixels: Pixels) -> Area:
    return Area(0, 0, pixels.shape[1], pixels.shape[0])


def crop(pixels: Pixels, area: Area) -> Pixels:
    return pixels[area.top : area.bottom, area.left : area.right]


def list_outer_strips(inner: Area, outer: Area) -> Iterator[Area]:
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
            owner, drawn = np.empty(count + ALIGNMENT, np.uint8), [get_whole_area(self._blank)] * self._batch_size
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
        return Canvas(np.empty_like(self._blank), self._blank, [get_whole_area(self._blank)], 0)


# An image drawn on to an area of the canvas, with its boxes. A plain example is one tile, a mosaic four.


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """An example opened: its size is known, its pixels are not decoded yet."""

    example: Example
    facts: Facts
    scene: Scene
    usable: Integers | None  # (n,) which of the example's boxes the scene has; None: all
    area: Area  # of the canvas

    def of_boxes(self, values: np.ndarray) -> np.ndarray:
        """Those of the scene's boxes, of values that the example has for all of its own."""
        return values if self.usable is None else values[self.usable]


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """An example drawn: which of its boxes are to be learned, and where its pixels went, by which they are mapped."""

    subject: Subject
    placement: Placement
    keep: Flags | None  # None: all of them


class BatchSlot(NamedTuple):
    """What stands in one place of a batch."""

    row: int  # EMPTY: nothing
    tiles: Sequence[Tile]


def clean_rows(data: DataSet) -> Flags:
    """Examples all of whose boxes can be learned as they are, if the image is as large as the annotation says.

    Found once for all of them together, so that nothing has to be looked at again for each example in each epoch.
    """
    examples = data.examples
    counts = [example.count for example in examples]
    sizes = np.array([(example.width or 0, example.height or 0) for example in examples], np.float64).reshape(-1, 2)
    sizes[[example.is_normalised for example in examples]] = 0
    if not sum(counts):
        return np.ones(len(examples), np.bool_)
    boxes, most = np.concatenate([example.boxes for example in examples]), np.repeat(sizes, counts, axis=0)
    is_clean = (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2:] <= most).all(axis=1) & (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    is_clean &= np.concatenate([example.classes for example in examples]) != UNKNOWN_CLASS
    result = np.ones(len(examples), np.bool_)
    result[np.repeat(np.arange(len(examples)), counts)[~is_clean]] = False
    return result


def select_usable_boxes(example: Example, facts: Facts) -> tuple[Floats, Integers]:
    """The boxes that can be learned, cut off at the image's edges, and which of the example's they are.

    A box that is not finite, inverted, of no area within the image or of no known class would give a NaN or teach nothing.
    """
    boxes = example.boxes
    if example.is_normalised:
        boxes = boxes * (facts.width, facts.height, facts.width, facts.height)
    cut = np.clip(boxes, 0, (facts.width, facts.height, facts.width, facts.height))
    usable: Flags = (cut[:, 2] > cut[:, 0]) & (cut[:, 3] > cut[:, 1]) & (example.classes != UNKNOWN_CLASS)
    usable &= np.isfinite(boxes).all(axis=1)
    return cut[usable], np.flatnonzero(usable).astype(np.int32)


class Fit(NamedTuple):
    placement: Placement
    shows_all: bool  # the target is the decoded image, pixel for pixel: then it can be decoded into the batch itself

    @classmethod
    def of(cls, view: View, scene: Scene, area: Area, resize: Resize, facts: Facts) -> Fit:
        placement = fit_window(view, scene, area, resize, facts.is_reducible)
        height, width, _ = compute_decoded_shape(facts, placement.reduction)
        is_same_size = (placement.target.width, placement.target.height) == (width, height)
        return cls(placement, is_same_size and placement.source == (0, 0, width, height) and not placement.is_flipped)


def draw(pixels: Pixels, placement: Placement, target: Pixels) -> None:
    """The placement's part of the decoded image, resized into the target: the one time that an example is resampled."""
    seen = crop(pixels, placement.source)
    if seen.shape == target.shape:
        target[:] = seen
    else:
        # Bilinear looks at four pixels: where each stands for more than four, the mean of all of them is taken.
        shrinks = seen.shape[0] > 2 * target.shape[0] or seen.shape[1] > 2 * target.shape[1]
        how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        cv2.resize(seen, (target.shape[1], target.shape[0]), dst=target, interpolation=how)
    if placement.is_flipped:
        cv2.flip(target, 1, dst=target)
