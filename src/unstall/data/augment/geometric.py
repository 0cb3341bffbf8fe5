"""Augmentations that move the window over the image: horizontal flip, scale jitter, SSD's expansion and SSD's crop by IoU."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unstall.data.augment.geometry import Rect, Scene, View, surfaces
from unstall.data.augment.rng import Rng
from unstall.data.example import Flags, Floats

MAX_OPTIONS = 20  # of IoUCrop, drawn for one image; after as many failures it stays whole


@dataclass(frozen=True, slots=True)
class HorizontalFlip:
    """The image mirrored, left to right, in a share of the draws."""

    probability: float = 0.5

    def apply(self, view: View, scene: Scene, rng: Rng) -> View:
        return replace(view, is_flipped=not view.is_flipped) if rng.happens(self.probability) else view


@dataclass(frozen=True, slots=True)
class ScaleJitter:
    """Scale and crop: the image is made larger or smaller than the canvas; a part of it is cut out, or the rest is filled.

    A scale of 1 fits the image into the canvas. 0.1 to 2 is the large-scale jitter of "Simple Copy-Paste" (Ghiasi et al., 2021),
    0.8 to 1.25 the standard one.
    """

    min_scale: float = 0.1
    max_scale: float = 2.0

    def apply(self, view: View, scene: Scene, rng: Rng) -> View:
        base = view.window
        fit = min(scene.area_width / base.width, scene.area_height / base.height)
        scale = fit * rng.between(self.min_scale, self.max_scale)
        width, height = scene.area_width / scale, scene.area_height / scale
        # Where the window is larger than the image it begins with it, and the filling lies right and below, as in a letterbox.
        left = base.left + max(0.0, base.width - width) * rng.number()
        top = base.top + max(0.0, base.height - height) * rng.number()
        return replace(view, window=Rect(left, top, left + width, top + height))


@dataclass(frozen=True, slots=True)
class ZoomOut:
    """SSD's expansion: the image somewhere on a canvas up to four times as wide and high, so that objects are small."""

    probability: float = 0.5
    max_scale: float = 4.0

    def apply(self, view: View, scene: Scene, rng: Rng) -> View:
        happens, factor = rng.happens(self.probability), rng.between(1.0, self.max_scale)
        across, down = rng.number(), rng.number()
        if not happens:
            return view
        base = view.window
        left = base.left - (factor - 1) * base.width * across
        top = base.top - (factor - 1) * base.height * down
        return replace(view, window=Rect(left, top, left + factor * base.width, top + factor * base.height))


@dataclass(frozen=True, slots=True)
class IoUCrop:
    """SSD's crop (Liu et al., 2016): a part of the image that overlaps some object by at least a drawn IoU.

    The rule as published: 0.3 to 1 of each side, width to height between 1/2 and 2, the least IoU drawn from the options; the
    boxes whose centre lies in the crop are kept. An option of 1 or more leaves the image as it is. An image without boxes stays
    whole.
    """

    min_side: float = 0.3
    max_aspect: float = 2.0
    options: tuple[float, ...] = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
    trials: int = 40  # crops tried for each option

    def apply(self, view: View, scene: Scene, rng: Rng) -> View:
        boxes = scene.boxes[view.keep]
        for _ in range(MAX_OPTIONS if len(boxes) else 0):
            min_iou = self.options[rng.index(len(self.options))]
            if min_iou >= 1:
                return view
            crops = self._crops(view.window, rng)
            fitting = np.flatnonzero(_overlaps(crops, boxes) >= min_iou)
            if len(fitting):
                crop = crops[fitting[0]]
                keep = view.keep & centres_inside(crop[None], scene.boxes)[0]
                return replace(view, window=Rect(*crop.tolist()), keep=keep)
        return view

    def _crops(self, base: Rect, rng: Rng) -> Floats:
        """All trials of one option at once: those of a wrong shape are left out."""
        numbers = rng.numbers(4 * self.trials).reshape(4, self.trials)
        width = base.width * (self.min_side + (1 - self.min_side) * numbers[0])
        height = base.height * (self.min_side + (1 - self.min_side) * numbers[1])
        left, top = base.left + (base.width - width) * numbers[2], base.top + (base.height - height) * numbers[3]
        crops: Floats = np.stack([left, top, left + width, top + height], axis=1)
        aspect = width / height
        shaped: Floats = crops[(aspect <= self.max_aspect) & (aspect >= 1 / self.max_aspect)]
        return shaped


def centres_inside(crops: Floats, boxes: Floats) -> Flags:
    """(crops, boxes): whether the box's centre lies within."""
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    crops = crops[:, :, None]
    result: Flags = (x > crops[:, 0]) & (x < crops[:, 2]) & (y > crops[:, 1]) & (y < crops[:, 3])
    return result


def _overlaps(crops: Floats, boxes: Floats) -> Floats:
    """The best IoU of each crop with the boxes that it would keep; -1 where it would keep none."""
    pairs = crops[:, None]
    sides = np.minimum(pairs[..., 2:], boxes[:, 2:]) - np.maximum(pairs[..., :2], boxes[:, :2])
    common = np.prod(np.maximum(sides, 0), axis=-1)
    iou = common / (surfaces(pairs) + surfaces(boxes) - common)
    best: Floats = np.where(centres_inside(crops, boxes), iou, -1.0).max(axis=1, initial=-1.0)
    return best
