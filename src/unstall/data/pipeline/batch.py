"""A batch: arrays of fixed shape, the same on every backend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unstall.data.augment.geometry import clip_boxes, map_to_canvas
from unstall.data.example import Flags, Integers
from unstall.data.pipeline.canvas import BatchSlot, Tile
from unstall.data.pipeline.decoder import Pixels
from unstall.data.pipeline.sampler import EMPTY
from unstall.data.pipeline.settings import PipelineSettings

Floats32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Boxes are (left, top, right, bottom) on the canvas, in pixels. Arrays may be used again once nothing refers to them."""

    images: Pixels  # (batch, height, width, 3) RGB
    boxes: Floats32  # (batch, max_boxes_per_image, 4), zeros where there is none
    mask: Flags  # (batch, max_boxes_per_image) whether there is a box
    classes: Integers  # (batch, max_boxes_per_image), -1 where there is none
    crowd: Flags
    difficult: Flags
    rows: Integers  # (batch,) of the example in the data set; -1: the place is empty
    sizes: Integers  # (batch, 2) height and width of the image as it is seen
    back: npt.NDArray[
        np.float64
    ]  # (batch, 4) a, b, c, d: x of the stored image = a·x + b, y = c·y + d. Mosaic: of the first image
    epoch: int
    step: int

    def inputs(self) -> dict[str, npt.NDArray[Any]]:
        """What a training step takes. Crowds are no single objects: no detector learns them."""
        return {"images": self.images, "boxes": self.boxes, "classes": self.classes, "mask": self.mask & ~self.crowd}

    @classmethod
    def gather_rows(
        cls, images: Pixels, filled: Sequence[BatchSlot], settings: PipelineSettings, epoch: int, step: int
    ) -> tuple[Batch, int]:
        """The batch of what was drawn, and how many boxes there was no room for.

        The boxes of all examples are mapped at once: array by array it costs as much as for a single one.
        """
        batch = cls.empty(images, settings.max_boxes_per_image, epoch, step)
        tiles: list[Tile] = []
        places: list[int] = []
        firsts: list[int] = []
        for place, each in enumerate(filled):
            if each.tiles:
                batch.rows[place] = each.row
                firsts.append(place)
                tiles += each.tiles
                places += [place] * len(each.tiles)
        if not tiles:
            return batch, 0
        shown = [filled[place].tiles[0] for place in firsts]
        batch.sizes[firsts] = [(tile.subject.facts.height, tile.subject.facts.width) for tile in shown]
        batch.back[firsts] = [tile.placement.back for tile in shown]
        return batch, batch._write_boxes(tiles, places, settings.min_kept_share)

    def _write_boxes(self, tiles: Sequence[Tile], places: Sequence[int], min_kept_share: float) -> int:
        """Few calls, and each of them over all boxes: it is done between two steps of a training."""
        subjects = [tile.subject for tile in tiles]
        counts = [len(subject.scene.boxes) for subject in subjects]
        geometry = np.array(
            [(*tile.placement.back, *tile.placement.target, place) for tile, place in zip(tiles, places, strict=True)]
        )
        geometry = np.repeat(geometry, counts, axis=0)
        mapped = map_to_canvas(np.concatenate([subject.scene.boxes for subject in subjects]), geometry[:, :4])
        cut, shown = clip_boxes(mapped, geometry[:, 4:8], min_kept_share)
        keeps = [tile.keep for tile in tiles if tile.keep is not None]
        if keeps:  # of every tile, or of none where nothing is augmented
            shown &= np.concatenate(keeps)
        chosen = np.flatnonzero(shown)
        place = geometry[chosen, 8].astype(np.intp)
        column = np.arange(len(place)) - np.searchsorted(place, place)  # how many of its own place stand before it
        max_boxes_per_image = self.mask.shape[1]
        fits = column < max_boxes_per_image
        left_out = len(fits) - int(np.count_nonzero(fits))
        if left_out:
            place, column, chosen = place[fits], column[fits], chosen[fits]
        at = place * max_boxes_per_image + column
        self.boxes.reshape(-1, 4)[at] = cut[chosen]
        self.mask.reshape(-1)[at] = True
        for name in ("classes", "crowd", "difficult"):
            values = np.concatenate([subject.of_boxes(getattr(subject.example, name)) for subject in subjects])
            getattr(self, name).reshape(-1)[at] = values[chosen]
        return left_out

    @classmethod
    def empty(cls, images: Pixels, max_boxes_per_image: int, epoch: int, step: int) -> Batch:
        count = len(images)
        back = np.zeros((count, 4))
        back[:, ::2] = 1.0
        return cls(
            images=images,
            boxes=np.zeros((count, max_boxes_per_image, 4), np.float32),
            mask=np.zeros((count, max_boxes_per_image), np.bool_),
            classes=np.full((count, max_boxes_per_image), -1, np.int32),
            crowd=np.zeros((count, max_boxes_per_image), np.bool_),
            difficult=np.zeros((count, max_boxes_per_image), np.bool_),
            rows=np.full(count, EMPTY, np.int32),
            sizes=np.zeros((count, 2), np.int32),
            back=back,
            epoch=epoch,
            step=step,
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name: what a model is fed with."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("epoch", "step")}

    def boxes_of_image(self, place: int, boxes: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
        """Boxes on the canvas (a detector's, say) in the pixels of the stored image at that place of the batch."""
        a, b, c, d = self.back[place]
        mapped: npt.NDArray[np.float64] = np.asarray(boxes, np.float64) * (a, c, a, c) + (b, d, b, d)
        return mapped[:, [2, 1, 0, 3]] if a < 0 else mapped


def compute_batch_bytes(settings: PipelineSettings) -> int:
    image = settings.height_px * settings.width_px * 3
    return settings.batch_size * (image + settings.max_boxes_per_image * (4 * 4 + 4 + 3))


# A batch as two arrays, its images and the bytes of everything else, and back.
#
# Each array that is handed to TensorFlow is paid for with the interpreter's lock held, and eleven cost more than decoding an
# image.


class Part(NamedTuple):
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int  # in bytes


class Layout:
    """Where each array stands among the bytes: the widest numbers first, so that each begins where its numbers may."""

    def __init__(self, settings: PipelineSettings) -> None:
        images = np.empty((settings.batch_size, 0, 0, 3), np.uint8)
        arrays = Batch.empty(images, settings.max_boxes_per_image, 0, 0).arrays()
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
