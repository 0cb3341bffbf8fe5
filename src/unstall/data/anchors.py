"""Anchors: boxes of set sizes at every place of the feature maps. They depend on the input's size alone: constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unstall.base.errors import InvalidInputError
from unstall.data.example import Floats

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


# How well the anchors of published detectors fit the boxes of a data set, and sizes that would fit better.
#
# A box is learned well where some anchor overlaps it by half (IoU 0.5). Boxes are first resized as the detector resizes its
# images. The anchors of a level lie on a grid, so the nearest ones are tried where they really are, not as if they could be
# moved.


MIN_IOU = 0.5  # from here on a box counts as fitted
PADDED_TO = 32  # pixels: images that keep their shape are padded to a multiple of this
ROUNDS = 60  # of the search for better anchors, at most
BEGINNINGS = 5
MAX_CLUSTERED = 20_000  # boxes that better anchors are searched with
MAX_BOXES = 200_000  # that are measured; more are drawn from at random


@dataclass(frozen=True)
class Level:
    """One grid of anchors: how far apart they are, where the first stands, and the sizes at each place."""

    stride: float  # in pixels of the resized image
    offset: float  # of the first centre, in strides
    sizes: Floats  # (n, 2): width and height
    cells: int = 0  # in a row and a column; 0: as many as the image needs


@dataclass(frozen=True)
class AnchorSet:
    levels: tuple[Level, ...]
    fixed: tuple[int, int] | None = None  # width and height that every image is stretched to
    shorter: int = 0  # else: the shorter side is made so long …
    longer: int = 0  # … but the longer one no longer than this


@dataclass(frozen=True)
class Fit:
    detector: str
    boxes: int
    recall: float  # share of the boxes with an anchor of IoU 0.5 or more
    mean_iou: float  # of each box with its best anchor
    recall_by_size: dict[str, float]  # small, medium, large as the detector sees them
    better: list[tuple[float, float]]  # width and height, in pixels of the resized image
    better_mean_iou: float  # of width and height alone, with as many anchors as the detector has
    own_mean_iou: float  # the same for the detector's own


def _pyramid(sizes: tuple[tuple[float, ...], ...], strides: tuple[int, ...]) -> tuple[Level, ...]:
    corners = [compute_pyramid_shapes(own, (0.5, 1.0, 2.0)).astype(np.float64) for own in sizes]
    return tuple(Level(stride, 0.0, own[:, 2:] - own[:, :2]) for own, stride in zip(corners, strides, strict=True))


def _default_boxes(
    side: int,
    grids: tuple[int, ...],
    scales: tuple[float, ...],
    aspects: tuple[tuple[int, ...], ...],
    steps: tuple[int, ...] | None,
) -> tuple[Level, ...]:
    """SSD's; no side longer than the image."""
    levels = []
    for number, grid in enumerate(grids):
        shapes = compute_default_shapes(scales[number], scales[number + 1], aspects[number])
        stride = steps[number] if steps else side / grid
        levels.append(Level(stride, 0.5, np.clip(shapes, 0, 1) * side, grid))
    return tuple(levels)


_RETINA = _pyramid(
    tuple((size, float(int(size * 2 ** (1 / 3))), float(int(size * 2 ** (2 / 3)))) for size in (32, 64, 128, 256, 512)),
    (8, 16, 32, 64, 128),
)
_FASTER = _pyramid(((32,), (64,), (128,), (256,), (512,)), (4, 8, 16, 32, 64))
_ALL_SIZES = (32.0, 64.0, 128.0, 256.0, 512.0)
ANCHORS: dict[str, AnchorSet] = {
    "fasterrcnn_mobilenet_v3_large_fpn": AnchorSet(_pyramid((_ALL_SIZES,) * 3, (32, 32, 64)), shorter=800, longer=1333),
    "fasterrcnn_resnet50_fpn": AnchorSet(_FASTER, shorter=800, longer=1333),
    "fasterrcnn_resnet50_fpn_v2": AnchorSet(_FASTER, shorter=800, longer=1333),
    "retinanet_resnet50_fpn": AnchorSet(_RETINA, shorter=800, longer=1333),
    "retinanet_resnet50_fpn_v2": AnchorSet(_RETINA, shorter=800, longer=1333),
    "ssd300_vgg16": AnchorSet(
        _default_boxes(
            300,
            (38, 19, 10, 5, 3, 1),
            (0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05),
            ((2,), (2, 3), (2, 3), (2, 3), (2,), (2,)),
            (8, 16, 32, 64, 100, 300),
        ),
        fixed=(300, 300),
    ),
    "ssdlite320_mobilenet_v3_large": AnchorSet(
        _default_boxes(320, (20, 10, 5, 3, 2, 1), (0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0), ((2, 3),) * 6, None),
        fixed=(320, 320),
    ),
}


def list_anchors(detector: str) -> AnchorSet:
    if detector not in ANCHORS:
        raise InvalidInputError(f"There is no detector '{detector}' whose anchors are known. Detectors: {', '.join(ANCHORS)}.")
    return ANCHORS[detector]


def resize_boxes(boxes: Floats, sizes: Floats, anchors: AnchorSet) -> tuple[Floats, Floats]:
    """Boxes and image sizes (width, height of each box's image) as the detector sees them."""
    if anchors.fixed is not None:
        scale = np.array(anchors.fixed) / sizes
    else:
        ratio = np.minimum(anchors.shorter / sizes.min(axis=1), anchors.longer / sizes.max(axis=1))
        scale = np.floor(sizes * ratio[:, None]) / sizes
    return boxes * np.tile(scale, 2), sizes * scale


def compute_best_iou(boxes: Floats, sizes: Floats, anchors: AnchorSet) -> Floats:
    """Of each box with the anchor that overlaps it most, at the places where the anchors are."""
    best = np.zeros(len(boxes))
    centres, sides = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    for level in anchors.levels:
        stride, cells = _grid(level, sizes)
        nearest = np.clip(np.round(centres / stride - level.offset), 0, cells - 1)
        distance = np.abs(centres - (nearest + level.offset) * stride)
        for size in level.sizes:
            shared = np.clip(np.minimum((sides + size) / 2 - distance, np.minimum(sides, size)), 0, None).prod(axis=1)
            best = np.maximum(best, shared / (sides.prod(axis=1) + size.prod() - shared))
    return best


def _grid(level: Level, sizes: Floats) -> tuple[Floats, Floats]:
    """How far apart and how many, for each image. A map that does not divide the padded image has cells a little narrower."""
    if level.cells:
        return np.full_like(sizes, level.stride), np.full_like(sizes, level.cells)
    padded = np.ceil(sizes / PADDED_TO) * PADDED_TO
    cells = np.ceil(padded / level.stride)
    return np.floor(padded / cells), cells


def compute_shape_iou(sides: Floats, anchors: Floats) -> Floats:
    """Of every box with every anchor, as if their centres were the same."""
    shared = np.minimum(sides[:, None], anchors[None]).prod(axis=2)
    return np.asarray(shared / (sides.prod(axis=1)[:, None] + anchors.prod(axis=1)[None] - shared))


def find_better_anchors(sides: Floats, count: int, seed: int = 0) -> Floats:
    """k-means with 1 - IoU as the distance: the best of several, each begun far apart. Sorted by area."""
    random = np.random.default_rng(seed)
    different = np.unique(np.round(sides, 2), axis=0)
    if len(different) <= count:
        return np.asarray(different[np.argsort(different.prod(axis=1))])
    if len(sides) > MAX_CLUSTERED:
        sides = sides[random.choice(len(sides), MAX_CLUSTERED, replace=False)]
    tried = [_clustered(sides, count, random) for _ in range(BEGINNINGS)]
    best = max(tried, key=lambda centres: float(compute_shape_iou(sides, centres).max(axis=1).mean()))
    return np.asarray(best[np.argsort(best.prod(axis=1))])


def _clustered(sides: Floats, count: int, random: np.random.Generator) -> Floats:
    centres = sides[random.integers(len(sides))][None]
    while len(centres) < count:
        far = 1 - compute_shape_iou(sides, centres).max(axis=1)
        weights = far**2
        centres = np.concatenate([centres, sides[random.choice(len(sides), p=weights / weights.sum())][None]])
    nearest = np.full(len(sides), -1)
    for _ in range(ROUNDS):
        now = compute_shape_iou(sides, centres).argmax(axis=1)
        if (now == nearest).all():
            break
        nearest = now
        for number in range(count):
            own = sides[nearest == number]
            if len(own):
                centres[number] = np.median(own, axis=0)
    return np.asarray(centres)


def fit(boxes: Floats, sizes: Floats, detector: str, seed: int = 0) -> Fit:
    """Boxes of some area in images of known size; `sizes` are those of the images."""
    anchors = list_anchors(detector)
    if len(boxes) > MAX_BOXES:
        drawn = np.random.default_rng(seed).choice(len(boxes), MAX_BOXES, replace=False)
        boxes, sizes = boxes[drawn], sizes[drawn]
    boxes, sizes = resize_boxes(boxes, sizes, anchors)
    best = compute_best_iou(boxes, sizes, anchors)
    sides = boxes[:, 2:] - boxes[:, :2]
    own = np.unique(np.concatenate([level.sizes for level in anchors.levels]), axis=0)
    better = find_better_anchors(sides, min(len(own), 15), seed) if len(sides) else np.zeros((0, 2))
    areas = sides.prod(axis=1)
    groups = {"small": areas < 32**2, "medium": (areas >= 32**2) & (areas < 96**2), "large": areas >= 96**2}
    return Fit(
        detector=detector,
        boxes=len(boxes),
        recall=float((best >= MIN_IOU).mean()) if len(best) else 0.0,
        mean_iou=float(best.mean()) if len(best) else 0.0,
        recall_by_size={name: float((best[group] >= MIN_IOU).mean()) for name, group in groups.items() if group.any()},
        better=[(round(float(width), 1), round(float(height), 1)) for width, height in better],
        better_mean_iou=float(compute_shape_iou(sides, better).max(axis=1).mean()) if len(sides) else 0.0,
        own_mean_iou=float(compute_shape_iou(sides, own).max(axis=1).mean()) if len(sides) else 0.0,
    )
