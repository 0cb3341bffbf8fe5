"""Boxes, against their plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.detectors.layers.random_boxes import SEEDS, array, boxes, plain_iou, some_examples, tensor
from unstall.detectors.layers import boxes as box_ops

ONES, SSD = (1.0, 1.0, 1.0, 1.0), (10.0, 10.0, 5.0, 5.0)


@some_examples
@given(SEEDS)
def test_iou_is_what_is_shared_by_what_is_covered(seed: int) -> None:
    a, b = boxes(seed, 5), boxes(seed + 1, 7)
    plain = [[plain_iou(one, other) for other in b.astype(np.float64)] for one in a.astype(np.float64)]
    assert np.allclose(array(box_ops.iou(a, b)), plain, atol=1e-5)


@some_examples
@given(SEEDS)
def test_iou_is_1_with_itself_and_the_same_both_ways(seed: int) -> None:
    a, b = boxes(seed, 2, 6, no_area=0), boxes(seed + 1, 2, 6)
    assert np.allclose(np.diagonal(array(box_ops.iou(a, a)), axis1=1, axis2=2), 1.0)
    assert np.allclose(array(box_ops.iou(a, b)), array(box_ops.iou(b, a)).swapaxes(1, 2), atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_box_that_is_not_finite_overlaps_nothing(value: float) -> None:
    broken = np.array([[0, 0, value, 10], [value, value, value, value]], np.float32)
    assert not array(box_ops.iou(boxes(0, 4), broken)).any()


@some_examples
@given(SEEDS)
def test_the_giou_loss_is_as_defined(seed: int) -> None:
    a, b = boxes(seed, 9, no_area=0).astype(np.float64), boxes(seed + 1, 9, no_area=0).astype(np.float64)
    expected = []
    for one, other in zip(a, b, strict=True):
        union = sum((each[2] - each[0]) * (each[3] - each[1]) for each in (one, other))
        union -= (shared := plain_iou(one, other) * union / (1 + plain_iou(one, other)))
        around = (max(one[2], other[2]) - min(one[0], other[0])) * (max(one[3], other[3]) - min(one[1], other[1]))
        expected.append(1 - shared / union + (around - union) / around)
    found = array(box_ops.giou_loss(tensor(a.astype(np.float32)), tensor(b.astype(np.float32))))
    assert np.allclose(found, expected, atol=1e-4)
    assert (found > -1e-5).all() and (found < 2 + 1e-5).all()


def test_the_giou_loss_of_boxes_without_area_is_finite() -> None:
    point = tensor(np.zeros((1, 4), np.float32))
    assert np.isfinite(array(box_ops.giou_loss(point, point))).all()


@pytest.mark.parametrize("weights", [ONES, SSD])
@some_examples
@given(SEEDS)
def test_what_is_encoded_is_decoded(weights: tuple[float, float, float, float], seed: int) -> None:
    wanted, anchors = boxes(seed, 8, no_area=0), boxes(seed + 1, 8, no_area=0) + np.array([0, 0, 4, 4], np.float32)
    codes = box_ops.encode(wanted, anchors, weights)
    assert np.allclose(array(box_ops.decode(codes, anchors, weights)), wanted, atol=1e-3)


def test_codes_are_shifts_in_sizes_of_the_anchor_and_logarithms_of_growth() -> None:
    anchor, wanted = np.array([[10, 20, 30, 60]], np.float32), np.array([[20, 20, 60, 60]], np.float32)
    assert np.allclose(array(box_ops.encode(wanted, anchor, ONES)), [[1.0, 0.0, np.log(2), 0.0]], atol=1e-6)
    assert np.allclose(array(box_ops.encode(wanted, anchor, SSD)), [[10.0, 0.0, 5 * np.log(2), 0.0]], atol=1e-5)


def test_boxes_without_area_are_encoded_as_finite_numbers() -> None:
    assert np.isfinite(array(box_ops.encode(np.zeros((3, 4), np.float32), boxes(0, 3, no_area=0), ONES))).all()


def test_a_side_grows_by_1000_to_16_at_most() -> None:
    anchor = np.array([[0, 0, 16, 16]], np.float32)
    grown = array(box_ops.decode(np.array([[0, 0, 1e4, 1e4]], np.float32), anchor, ONES))
    assert np.allclose(grown, [[8 - 500, 8 - 500, 8 + 500, 8 + 500]], rtol=1e-5)
    assert np.isfinite(array(box_ops.decode(np.array([[1e4, -1e4, -1e4, 0]], np.float32), anchor, ONES))).all()


def test_boxes_are_cut_to_the_image_or_to_each_images_own_size() -> None:
    given_boxes = np.array([[[-5, -6, 50, 70]], [[1, 2, 50, 70]]], np.float32)
    assert array(box_ops.clip(given_boxes, 60.0, 40.0)).tolist() == [[[0, 0, 40, 60]], [[1, 2, 40, 60]]]
    own = box_ops.clip(given_boxes, np.array([[60.0], [30.0]], np.float32), np.array([[40.0], [20.0]], np.float32))
    assert array(own).tolist() == [[[0, 0, 40, 60]], [[1, 2, 20, 30]]]
