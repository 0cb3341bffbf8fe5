"""Matching, against the published rule written out box by box."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from keras import ops

from tests.detectors.layers.random_boxes import SEEDS, array, boxes, some_examples
from unstall.backends.devices import trace_for_gpu
from unstall.detectors.layers.boxes import Overlap, compute_overlaps, gather_matched, iou, match, match_default_boxes

ANCHORS, BOXES = 30, 4


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Overlaps of two images, and which boxes there are."""
    overlap = array(iou(boxes(seed, 2, ANCHORS, no_area=0), boxes(seed + 1, 2, BOXES)))
    mask = np.arange(BOXES) < np.random.default_rng(seed).integers(0, BOXES + 1, 2)[:, None]
    return overlap, mask


def both_ways(overlap: np.ndarray) -> Overlap:
    of_anchors, of_boxes = ops.convert_to_tensor(overlap), ops.convert_to_tensor(overlap.swapaxes(1, 2))
    return Overlap(lambda: of_anchors, lambda: of_boxes)


def plainly(overlap: np.ndarray, foreground: float, background: float, low_quality: bool) -> list[int]:
    """Of one image, for each anchor: its box, -1 for background, -2 for neither."""
    if not overlap.shape[1]:
        return [-1] * len(overlap)
    own = overlap.argmax(axis=1)
    best = overlap.max(axis=1)
    result = [int(own[row]) if best[row] >= foreground else -1 if best[row] < background else -2 for row in range(len(own))]
    if low_quality:
        for column in range(overlap.shape[1]):
            highest = overlap[:, column].max()
            for row in np.flatnonzero((overlap[:, column] == highest) & (highest > 0)):
                result[row] = int(own[row])
    return result


def as_numbers(matches: object) -> np.ndarray:
    box, is_object, is_background = (array(each) for each in matches)  # type: ignore[attr-defined]
    assert not (is_object & is_background).any()
    return np.where(is_object, box, np.where(is_background, -1, -2))


@some_examples
@given(SEEDS)
def test_it_follows_the_published_rule(seed: int) -> None:
    overlap, mask = drawn(seed)
    for low_quality in (False, True):
        found = as_numbers(match(both_ways(overlap), mask, 0.5, 0.4, low_quality))
        for image in range(2):
            there = overlap[image][:, mask[image]]
            assert found[image].tolist() == plainly(there, 0.5, 0.4, low_quality)


def test_an_anchor_taken_for_one_box_learns_the_one_that_it_overlaps_best_itself() -> None:
    overlap = np.array([[[0.3, 0.2], [0.45, 0.1], [0.0, 0.0]]], np.float32)  # the first is the best that the second box has
    found = match(both_ways(overlap), np.array([[True, True]]), 0.5, 0.4, low_quality=True)
    assert as_numbers(found).tolist() == [[0, 0, -1]]


def test_all_anchors_that_overlap_a_box_best_are_taken() -> None:
    overlap = np.array([[[0.2], [0.2], [0.1]]], np.float32)
    assert as_numbers(match(both_ways(overlap), np.array([[True]]), 0.5, 0.4, low_quality=True)).tolist() == [[0, 0, -1]]


def test_a_box_that_no_anchor_touches_takes_none() -> None:
    found = match(both_ways(np.zeros((1, 3, 1), np.float32)), np.array([[True]]), 0.5, 0.4, low_quality=True)
    assert as_numbers(found).tolist() == [[-1, -1, -1]]


def test_an_image_without_boxes_is_background_everywhere() -> None:
    overlap, mask = np.ones((1, 3, 2), np.float32), np.zeros((1, 2), bool)
    assert as_numbers(match(both_ways(overlap), mask, 0.5, 0.4, low_quality=True)).tolist() == [[-1, -1, -1]]
    assert as_numbers(match_default_boxes(both_ways(overlap), mask, 0.5)).tolist() == [[-1, -1, -1]]


@some_examples
@given(SEEDS)
def test_of_ssd_the_best_anchor_of_each_box_learns_it_and_of_two_boxes_the_later(seed: int) -> None:
    overlap, mask = drawn(seed)
    found = as_numbers(match_default_boxes(both_ways(overlap), mask, 0.5))
    for image in range(2):
        there = overlap[image][:, mask[image]]
        expected = plainly(there, 0.5, 0.5, low_quality=False)
        for column in range(there.shape[1]):
            expected[int(there[:, column].argmax())] = column
        assert found[image].tolist() == expected


def test_of_two_boxes_that_claim_one_anchor_the_later_gets_it() -> None:
    overlap = np.array([[[0.9, 0.8], [0.1, 0.2]]], np.float32)
    assert as_numbers(match_default_boxes(both_ways(overlap), np.array([[True, True]]), 0.5)).tolist() == [[1, -1]]


def test_values_of_the_boxes_come_to_their_anchors() -> None:
    overlap = np.array([[[0.9, 0.1], [0.1, 0.7]]], np.float32)
    matches = match(both_ways(overlap), np.array([[True, True]]), 0.5, 0.4, low_quality=False)
    assert array(gather_matched(np.array([[7, 9]], np.int32), matches)).tolist() == [[7, 9]]
    assert array(gather_matched(np.array([[[1, 2, 3, 4], [5, 6, 7, 8]]], np.float32), matches)).tolist() == [
        [[1, 2, 3, 4], [5, 6, 7, 8]]
    ]


def test_overlaps_that_are_computed_each_time_on_a_card_are_the_same() -> None:
    anchors, found = boxes(1, 1, ANCHORS), boxes(2, 3, BOXES)
    with trace_for_gpu():
        again = compute_overlaps(anchors, found)
    for each in (again, compute_overlaps(anchors, found)):
        assert array(each.of_anchors()).shape == (3, ANCHORS, BOXES)
        np.testing.assert_allclose(array(each.of_boxes()), array(again.of_anchors()).swapaxes(1, 2), rtol=1e-6)
