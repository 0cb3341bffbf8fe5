"""Every augmentation: those that move a window over the image (flip, scale jitter, SSD's expansion and crop), mosaic, colours.

Below them are those that papers use together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from unstall.data.augment.geometry import Area, Rect, Scene, View, compute_areas
from unstall.data.augment.rng import Rng
from unstall.data.example import Flags, Floats

Pixels = npt.NDArray[np.uint8]
LEVELS = np.arange(256, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Colours:
    """What was drawn for one image."""

    brightness: float = 0.0  # added
    contrast: float = 1.0
    contrast_is_last: bool = False
    saturation: float = 1.0
    hue_turns: float = 0.0  # 1 is all the way round

    @property
    def changes_colour(self) -> bool:
        return self.saturation != 1.0 or self.hue_turns != 0.0

    def apply(self, pixels: Pixels) -> None:
        """In place."""
        import cv2

        early = 1.0 if self.contrast_is_last else self.contrast
        if self.brightness or early != 1.0:
            cv2.LUT(pixels, compute_colour_table((LEVELS + self.brightness) * early), dst=pixels)
        if self.changes_colour:
            hue = (LEVELS + round(256 * self.hue_turns)) % 256
            coloured: Any = cv2.cvtColor(pixels, cv2.COLOR_RGB2HSV_FULL)
            tables = np.stack(
                [compute_colour_table(hue), compute_colour_table(LEVELS * self.saturation), compute_colour_table(LEVELS)], axis=-1
            )
            cv2.LUT(coloured, tables.reshape(256, 1, 3), dst=coloured)
            cv2.cvtColor(coloured, cv2.COLOR_HSV2RGB_FULL, dst=pixels)
        if self.contrast_is_last and self.contrast != 1.0:
            cv2.LUT(pixels, compute_colour_table(LEVELS * self.contrast), dst=pixels)


@dataclass(frozen=True, slots=True)
class PhotometricDistort:
    """SSD's colour distortion, on uint8: brightness, contrast, saturation and hue, each in half of the draws; boxes stay.

    As in the paper's own code: brightness adds up to ±32, contrast multiplies by 0.5 to 1.5 (before or after the colours, by
    chance), saturation multiplies by 0.5 to 1.5, hue turns by up to ±18 degrees. All of it is look-up tables and one way
    through HSV, and that only where colour is touched.
    """

    probability: float = 0.5  # of each of the four
    brightness: float = 32.0
    contrast: tuple[float, float] = (0.5, 1.5)
    saturation: tuple[float, float] = (0.5, 1.5)
    hue_turns: float = 0.05  # 18 degrees, either way

    def draw_parameters(self, rng: Rng) -> Colours:
        """The same count of numbers whatever happens, so that what is drawn later does not depend on it."""
        happens = [rng.happens(self.probability) for _ in range(4)]
        brightness = rng.between(-self.brightness, self.brightness)
        contrast, saturation = rng.between(*self.contrast), rng.between(*self.saturation)
        hue, last = rng.between(-self.hue_turns, self.hue_turns), rng.happens(0.5)
        return Colours(
            brightness=brightness if happens[0] else 0.0,
            contrast=contrast if happens[1] else 1.0,
            contrast_is_last=last,
            saturation=saturation if happens[2] else 1.0,
            hue_turns=hue if happens[3] else 0.0,
        )


def compute_colour_table(levels: npt.NDArray[np.float64]) -> Pixels:
    return np.clip(np.rint(levels), 0, 255).astype(np.uint8)


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
                keep = view.keep & select_centres_inside(crop[None], scene.boxes)[0]
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


def select_centres_inside(crops: Floats, boxes: Floats) -> Flags:
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
    iou = common / (compute_areas(pairs) + compute_areas(boxes) - common)
    best: Floats = np.where(select_centres_inside(crops, boxes), iou, -1.0).max(axis=1, initial=-1.0)
    return best


@dataclass(frozen=True, slots=True)
class Mosaic:
    """Four images on one canvas, meeting in a point drawn near its middle (Bochkovskiy et al., 2020).

    Each image is scaled and laid with a corner at the meeting point, so that it fills its quarter from there; what reaches
    beyond the quarter is cut off, and a box is kept where enough of it still shows. Of the other geometric augmentations only
    the flip acts on the four: they cut and scale already.
    """

    probability: float = 1.0
    min_scale: float = 0.5  # 1: the whole image would just fit into the canvas
    max_scale: float = 1.5
    margin: float = 0.25  # the meeting point stays as far from the edges, as a share of the side

    def partners(self, rng: Rng, count: int) -> tuple[int, ...]:
        """Rows of the three further images; none where no mosaic is drawn."""
        happens, rows = rng.happens(self.probability), tuple(rng.index(count) for _ in range(3))
        return rows if happens else ()

    def quarters(self, rng: Rng, width: int, height: int) -> tuple[Area, ...]:
        """Top left, top right, bottom left, bottom right."""
        x = _within(rng.between(self.margin, 1 - self.margin), width)
        y = _within(rng.between(self.margin, 1 - self.margin), height)
        return Area(0, 0, x, y), Area(x, 0, width, y), Area(0, y, x, height), Area(x, y, width, height)

    def apply(self, view: View, scene: Scene, rng: Rng, quarter: int, canvas: tuple[int, int]) -> View:
        """The window that lays the image's inner corner on to the meeting point; `view` says whether it is mirrored there."""
        fit = min(canvas[0] / scene.width, canvas[1] / scene.height)
        scale = fit * rng.between(self.min_scale, self.max_scale)
        across, down = scene.area_width / scale, scene.area_height / scale
        is_left, is_top = (quarter % 2 == 0) != view.is_flipped, quarter < 2
        left = scene.width - across if is_left else 0.0
        top = scene.height - down if is_top else 0.0
        return replace(view, window=Rect(left, top, left + across, top + down))


def _within(probability: float, length: int) -> int:
    return min(length - 1, max(1, round(probability * length)))


Geometric = HorizontalFlip | IoUCrop | ScaleJitter | ZoomOut
Augmentation = Geometric | Mosaic | PhotometricDistort

SSD: tuple[Augmentation, ...] = (PhotometricDistort(), ZoomOut(), IoUCrop(), HorizontalFlip())  # as in the paper
LARGE_SCALE_JITTER: tuple[Augmentation, ...] = (ScaleJitter(), HorizontalFlip())  # 0.1 to 2 times, as in "Simple Copy-Paste"
