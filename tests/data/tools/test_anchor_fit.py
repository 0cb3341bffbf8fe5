"""The published anchors, against anchors laid out one by one; and anchors that fit better."""

from __future__ import annotations

import numpy as np
import pytest

from unstall.base.errors import InvalidInputError
from unstall.data.anchors import (
    ANCHORS,
    AnchorSet,
    compute_best_iou,
    compute_shape_iou,
    find_better_anchors,
    fit,
    list_anchors,
    resize_boxes,
)


def laid_out(anchors: AnchorSet, width: int, height: int) -> np.ndarray:
    """Every anchor of one image as corners, in plain loops."""
    found = []
    padded = (-(-width // 32) * 32, -(-height // 32) * 32)
    for level in anchors.levels:
        cells = (level.cells, level.cells) if level.cells else tuple(-(-side // int(level.stride)) for side in padded)
        strides = (level.stride, level.stride) if level.cells else (padded[0] // cells[0], padded[1] // cells[1])
        for down in range(cells[1]):
            for across in range(cells[0]):
                x, y = (across + level.offset) * strides[0], (down + level.offset) * strides[1]
                found += [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for w, h in level.sizes]
    return np.array(found)


def iou(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    sides = np.clip(np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2]), 0, None)
    shared = sides.prod(axis=1)
    return shared / ((box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(axis=1) - shared)


@pytest.mark.parametrize(("detector", "count"), [("ssd300_vgg16", 8732), ("ssdlite320_mobilenet_v3_large", 3234)])
def test_ssd_has_as_many_anchors_as_published(detector: str, count: int) -> None:
    assert len(laid_out(ANCHORS[detector], 300, 300)) == count


def test_retinanet_has_its_published_base_anchors() -> None:
    """Of the finest level, rounded as torchvision rounds them."""
    corners = ANCHORS["retinanet_resnet50_fpn"].levels[0].sizes / 2
    assert corners.tolist() == [[23, 11], [28, 14], [35, 18], [16, 16], [20, 20], [25, 25], [11, 23], [14, 28], [18, 35]]


def test_faster_rcnn_has_three_shapes_a_level_and_its_mobilenet_all_fifteen() -> None:
    assert [len(level.sizes) for level in ANCHORS["fasterrcnn_resnet50_fpn"].levels] == [3] * 5
    assert [len(level.sizes) for level in ANCHORS["fasterrcnn_mobilenet_v3_large_fpn"].levels] == [15] * 3


@pytest.mark.parametrize("detector", ANCHORS)
def test_the_best_anchor_is_the_best_of_all_that_there_are(detector: str) -> None:
    anchors = ANCHORS[detector]
    width, height = anchors.fixed or (448, 320)
    random = np.random.default_rng(1)
    centres, sides = random.uniform(0, (width, height), (25, 2)), np.exp(random.uniform(1.5, 5.5, (25, 2)))
    boxes = np.concatenate([centres - sides / 2, centres + sides / 2], axis=1)
    sizes = np.tile(np.array([width, height], np.float64), (25, 1))
    everything = laid_out(anchors, width, height)
    expected = [iou(box, everything).max() for box in boxes]
    np.testing.assert_allclose(compute_best_iou(boxes, sizes, anchors), expected, atol=1e-9)


def test_boxes_are_resized_as_the_detector_resizes_its_images() -> None:
    boxes, sizes = np.array([[64.0, 48, 320, 240]]), np.array([[640.0, 480]])
    stretched, size = resize_boxes(boxes, sizes, ANCHORS["ssd300_vgg16"])
    assert stretched.tolist() == [[30, 30, 150, 150]] and size.tolist() == [[300, 300]]
    _, size = resize_boxes(boxes, sizes, ANCHORS["retinanet_resnet50_fpn"])
    assert size.tolist() == [[1066, 800]]
    _, size = resize_boxes(boxes, np.array([[4000.0, 1000]]), ANCHORS["retinanet_resnet50_fpn"])
    assert size.tolist() == [[1333, 333]]


def test_better_anchors_find_the_shapes_that_there_are() -> None:
    random = np.random.default_rng(0)
    true = np.array([[10.0, 10], [100, 20], [20, 100], [80, 80]])
    sides = np.concatenate([shape * random.uniform(0.95, 1.05, (200, 2)) for shape in true])
    found = find_better_anchors(sides, 4)
    assert compute_shape_iou(true, found).max(axis=1).min() > 0.9


def test_fewer_shapes_than_anchors_are_taken_as_they_are() -> None:
    assert find_better_anchors(np.array([[5.0, 5], [5, 5], [9, 3]]), 9).tolist() == [[5, 5], [9, 3]]


def test_tiny_boxes_do_not_fit_and_usual_ones_do() -> None:
    sizes = np.tile([640.0, 480.0], (2, 1))
    tiny, usual = np.array([[5.0, 5, 9, 9], [50, 50, 53, 54]]), np.array([[100.0, 100, 200, 210], [300, 100, 420, 300]])
    assert fit(tiny, sizes, "ssdlite320_mobilenet_v3_large").recall == 0
    found = fit(usual, sizes, "ssdlite320_mobilenet_v3_large")
    assert found.recall == 1 and found.recall_by_size == {"medium": 1.0}
    assert fit(np.zeros((0, 4)), np.zeros((0, 2)), "ssd300_vgg16").boxes == 0


def test_an_unknown_detector_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InvalidInputError, match=r"no detector 'yolo'.*ssd300_vgg16"):
        list_anchors("yolo")
