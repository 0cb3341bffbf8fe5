"""An image drawn on to an area of the canvas, with its boxes. A plain example is one tile, a mosaic four."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from unstall.data.augment.geometry import Area, Placement, Resize, Scene, View, place
from unstall.data.example import UNKNOWN_CLASS, DataSet, Example, Flags, Floats, Integers
from unstall.data.pipeline.canvas import part
from unstall.data.pipeline.decoder import Facts, Pixels, decoded_shape


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


def usable_boxes(example: Example, facts: Facts) -> tuple[Floats, Integers]:
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
        placement = place(view, scene, area, resize, facts.is_reducible)
        height, width, _ = decoded_shape(facts, placement.reduction)
        is_same_size = (placement.target.width, placement.target.height) == (width, height)
        return cls(placement, is_same_size and placement.source == (0, 0, width, height) and not placement.is_flipped)


def draw(pixels: Pixels, placement: Placement, target: Pixels) -> None:
    """The placement's part of the decoded image, resized into the target: the one time that an example is resampled."""
    seen = part(pixels, placement.source)
    if seen.shape == target.shape:
        target[:] = seen
    else:
        # Bilinear looks at four pixels: where each stands for more than four, the mean of all of them is taken.
        shrinks = seen.shape[0] > 2 * target.shape[0] or seen.shape[1] > 2 * target.shape[1]
        how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        cv2.resize(seen, (target.shape[1], target.shape[0]), dst=target, interpolation=how)
    if placement.is_flipped:
        cv2.flip(target, 1, dst=target)
