"""Several small maps side by side on one canvas, so that a convolution runs once over all of them and not once for each.

On an accelerator the coarse levels of a pyramid are too small to keep it busy: a call costs more than its arithmetic. Between the
maps lies a row or column of zeros, which is all that a convolution of 3×3 sees beyond a map's edge anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from keras import ops

from unstall.detectors.parts.anchors import Size
from unstall.detectors.parts.boxes import Tensor


class Packing:
    """The first map, the largest, lies on the left; the others lie below each other in a column beside it."""

    def __init__(self, shapes: Sequence[Size]) -> None:
        (_, width), *others = shapes
        tops = [sum(shape[0] + 1 for shape in others[:number]) for number in range(len(others))]
        self.shapes = list(shapes)
        self.places = [(0, 0), *((top, width + 1) for top in tops)]
        self.height = max(top + shape[0] for (top, _), shape in zip(self.places, shapes, strict=True))
        self.width = max(left + shape[1] for (_, left), shape in zip(self.places, shapes, strict=True))
        self.is_map = np.zeros((1, self.height, self.width, 1), np.float32)
        for (top, left), (rows, columns) in zip(self.places, shapes, strict=True):
            self.is_map[:, top : top + rows, left : left + columns] = 1.0

    def packed(self, maps: Sequence[Tensor]) -> Tensor:
        """(batch, height, width, channels) of each, to one."""
        first, *others = maps
        column_width = self.width - first.shape[2] - 1
        column = ops.concatenate([_grown(other, other.shape[1] + 1, column_width) for other in others], axis=1)
        return ops.concatenate(
            [
                _grown(first, self.height, first.shape[2] + 1),
                _grown(column[:, : self.height], self.height, column_width),
            ],
            axis=2,
        )

    def cleared(self, canvas: Tensor) -> Tensor:
        """With zeros between the maps again, after a layer that wrote there."""
        return canvas * ops.cast(self.is_map, canvas.dtype)

    def unpacked(self, canvas: Tensor) -> list[Tensor]:
        return [
            canvas[:, top : top + rows, left : left + columns]
            for (top, left), (rows, columns) in zip(self.places, self.shapes, strict=True)
        ]


def _grown(x: Tensor, height: int, width: int) -> Tensor:
    """With zeros below and on the right."""
    return ops.pad(x, ((0, 0), (0, height - x.shape[1]), (0, width - x.shape[2]), (0, 0)))
