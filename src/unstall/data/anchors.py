"""Anchors: boxes of set sizes at every place of the feature maps. They depend on the input's size alone: constants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Anchors = npt.NDArray[np.float32]  # (count, 4)
Size = tuple[int, int]  # height and width


def create_pyramid_anchors(
    image: Size, grids: Sequence[Size], sizes_px: Sequence[Sequence[float]], ratios: Sequence[float]
) -> list[Anchors]:
    """Of RetinaNet and Faster R-CNN, for each level: ordered by row, column, ratio (height / width), size.

    As torchvision lays them: corners are rounded to whole pixels, and the first stands on the image's corner, not in a cell.
    """
    return [_laid(compute_pyramid_shapes(sizes, ratios), grid, image) for grid, sizes in zip(grids, sizes_px, strict=True)]


def create_default_boxes(
    image: Size,
    grids: Sequence[Size],
    scales: Sequence[float],
    ratios: Sequence[Sequence[float]],
    steps_px: Sequence[int | None] | None,
) -> Anchors:
    """Of SSD, for all levels: a square, one between this level and the next, then each ratio lying and standing.

    Scales are shares of the image and have one more than there are levels. Sides are cut to the image's, boxes are not.
    Where there is no step the places are spread evenly over the image.
    """
    height, width = image
    boxes = []
    for level, (rows, columns) in enumerate(grids):
        # In float32 from here on, step by step as torchvision does: a box that lies in two of these overlaps both alike, and the
        # last digit says which of them learns it.
        shapes = np.clip(compute_default_shapes(scales[level], scales[level + 1], ratios[level]).astype(np.float32), 0, 1)
        step = steps_px[level] if steps_px is not None else None
        down, across = (rows, columns) if step is None else (height / step, width / step)
        y, x = np.meshgrid(_spread(rows, down), _spread(columns, across), indexing="ij")
        centres, halves = np.stack([x, y], axis=-1).reshape(-1, 1, 2), np.float32(0.5) * shapes
        corners = np.concatenate([centres - halves, centres + halves], axis=-1)
        boxes.append(corners.reshape(-1, 4) * np.array((width, height, width, height), np.float32))
    return np.concatenate(boxes)


def _spread(count: int, over: float) -> npt.NDArray[np.float32]:
    return (np.arange(count, dtype=np.float32) + np.float32(0.5)) / np.float32(over)


def compute_pyramid_shapes(sizes: Sequence[float], ratios: Sequence[float]) -> Anchors:
    """Corners around 0, 0. Halves are rounded to the even number, in float32, as torchvision does."""
    roots = np.sqrt(np.asarray(ratios, np.float32))
    scales = np.asarray(sizes, np.float32)
    widths, heights = ((1 / roots)[:, None] * scales).reshape(-1), (roots[:, None] * scales).reshape(-1)
    corners: Anchors = np.round(np.stack([-widths, -heights, widths, heights], axis=1) / 2)
    return corners


def _laid(shapes: Anchors, grid: Size, image: Size) -> Anchors:
    down, across = image[0] // grid[0], image[1] // grid[1]
    y, x = np.meshgrid(np.arange(grid[0]) * down, np.arange(grid[1]) * across, indexing="ij")
    places = np.stack([x, y, x, y], axis=-1).reshape(-1, 1, 4)
    return (places + shapes).reshape(-1, 4).astype(np.float32)


def compute_default_shapes(own: float, following: float, ratios: Sequence[float]) -> npt.NDArray[np.float64]:
    """Widths and heights of one level of SSD, as shares of the image; not cut to it."""
    between = float(np.sqrt(own * following))
    shapes = [(own, own), (between, between)]
    for ratio in ratios:
        root = float(np.sqrt(ratio))
        shapes += [(own * root, own / root), (own / root, own * root)]
    return np.asarray(shapes)
