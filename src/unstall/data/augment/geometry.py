"""What of an image is seen, and where on the canvas it lands: the geometry of every augmentation, in one place.

A view is a window on the image, in the image's pixels; it may reach beyond the image's edges, and what lies there is filled.
`place` fits the window into an area of the canvas and rounds to whole pixels on both sides. From then on the rounded numbers
are the truth: the pixels are resized between them, and the boxes are mapped by them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from unstall.data.example import Flags, Floats, Integers

Resize = Literal["letterbox", "stretch"]
REDUCTIONS = (8, 4, 2)  # a JPEG decodes at these parts of its size for a part of the work


class Rect(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


class Area(NamedTuple):
    """Whole pixels: of the canvas, or of an image decoded at a part of its size."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top


class Scene(NamedTuple):
    """What an augmentation may look at: the image's size, its boxes, and the size of what it is drawn for."""

    width: int
    height: int
    boxes: Floats
    area_width: int
    area_height: int


@dataclass(frozen=True, slots=True)
class View:
    window: Rect
    is_flipped: bool
    keep: Flags  # (n,) the boxes that are still to be learned

    @classmethod
    def whole(cls, scene: Scene) -> View:
        return cls(Rect(0.0, 0.0, scene.width, scene.height), False, np.ones(len(scene.boxes), np.bool_))


@dataclass(frozen=True)
class Placement:
    """Which pixels of the decoded image go where on the canvas."""

    source: Area  # in pixels of the image decoded at 1/reduction
    reduction: int
    target: Area  # on the canvas
    is_flipped: bool

    @cached_property
    def back(self) -> tuple[float, float, float, float]:
        """(a, b, c, d) with x of the image = a·x + b and y = c·y + d of the canvas."""
        source, target, part = self.source, self.target, self.reduction
        a, c = source.width * part / target.width, source.height * part / target.height
        d = source.top * part - c * target.top
        if self.is_flipped:
            return -a, source.left * part + a * target.right, c, d
        return a, source.left * part - a * target.left, c, d


def map_to_canvas(boxes: Floats, back: Floats) -> Floats:
    """Where boxes of images lie on the canvas, not cut off at edges. `back` has a row (see Placement.back) for each box."""
    mapped = (boxes - back[:, [1, 3, 1, 3]]) / back[:, [0, 2, 0, 2]]
    mirrored: Floats = np.where(back[:, :1] < 0, mapped[:, [2, 1, 0, 3]], mapped)
    return mirrored


def clip_boxes(boxes: Floats, areas: Integers, min_kept_share: float) -> tuple[Floats, Flags]:
    """Each box cut off at the edges of its area, and whether it still shows at least that share of itself."""
    cut = np.minimum(np.maximum(boxes, areas[:, [0, 1, 0, 1]]), areas[:, [2, 3, 2, 3]])
    is_seen = compute_areas(cut.astype(np.float32)) > 0  # as a batch holds it: the last sliver of a box may have no width there
    return cut, is_seen & (compute_areas(cut) >= min_kept_share * compute_areas(boxes))


def compute_areas(boxes: Floats) -> Floats:
    result: Floats = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return result


def fit_window(view: View, scene: Scene, area: Area, resize: Resize, is_reducible: bool) -> Placement:
    """The window fitted into the area: its top left corner into that of the area, the rest of the area is filled."""
    window = view.window
    scale_x, scale_y = area.width / window.width, area.height / window.height
    if resize == "letterbox":
        scale_x = scale_y = min(scale_x, scale_y)
    visible = _visible(window, scene)
    across, down = _whole(window.width * scale_x, area.width), _whole(window.height * scale_y, area.height)
    left, right = _span((visible.left - window.left) * scale_x, (visible.right - window.left) * scale_x, across)
    top, bottom = _span((visible.top - window.top) * scale_y, (visible.bottom - window.top) * scale_y, down)
    if view.is_flipped:
        left, right = across - right, across - left
    target = Area(area.left + left, area.top + top, area.left + right, area.top + bottom)
    reduction = _reduction(visible, target) if is_reducible else 1
    return Placement(_source(visible, scene, reduction), reduction, target, view.is_flipped)


def _visible(window: Rect, scene: Scene) -> Rect:
    """The part of the window that lies on the image. A window that misses the image sees its nearest row or column."""
    left, top = min(max(window.left, 0), scene.width - 1), min(max(window.top, 0), scene.height - 1)
    return Rect(left, top, min(scene.width, max(left + 1, window.right)), min(scene.height, max(top + 1, window.bottom)))


def _whole(length: float, most: int) -> int:
    return min(most, max(1, round(length)))


def _span(begin: float, end: float, length: int) -> tuple[int, int]:
    """Whole pixels, at least one of them, within 0 … length."""
    first = min(length - 1, max(0, round(begin)))
    return first, min(length, max(first + 1, round(end)))


def _reduction(visible: Rect, target: Area) -> int:
    """The smallest part of its size at which the image still has a pixel for each of the target's."""
    fits = (part for part in REDUCTIONS if visible.width >= part * target.width and visible.height >= part * target.height)
    return next(fits, 1)


def _source(visible: Rect, scene: Scene, reduction: int) -> Area:
    width, height = math.ceil(scene.width / reduction), math.ceil(scene.height / reduction)
    left, top = min(width - 1, int(visible.left / reduction)), min(height - 1, int(visible.top / reduction))
    right, bottom = math.ceil(visible.right / reduction), math.ceil(visible.bottom / reduction)
    return Area(left, top, min(width, max(left + 1, right)), min(height, max(top + 1, bottom)))
