"""The figures are those of pycocotools to the last digit, and what they mean shows in small cases."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from unstall.training.evaluate.coco_metrics import (
    AREAS,
    FIGURES,
    NOTHING,
    GroundTruth,
    Predictions,
    Score,
    compute_overlaps,
    score,
)


def truth(boxes: Any = (), classes: Any = (), crowd: Any = (), areas: Any = None) -> GroundTruth:
    boxes = np.array(boxes, np.float64).reshape(-1, 4)
    flags = np.array(crowd, np.bool_) if len(crowd) else np.zeros(len(boxes), np.bool_)
    surface = boxes[:, 2] * boxes[:, 3] if areas is None else np.array(areas, np.float64)
    return GroundTruth(boxes, np.array(classes, np.int32), flags, surface)


def answer(boxes: Any = (), classes: Any = (), scores: Any = ()) -> Predictions:
    return Predictions(np.array(boxes, np.float64).reshape(-1, 4), np.array(classes, np.int32), np.array(scores, np.float64))


def by_pycocotools(ground_truths: list[GroundTruth], predictions: list[Predictions], classes: int) -> COCOeval:
    annotations, results = [], []
    for image, (there, found) in enumerate(zip(ground_truths, predictions, strict=True), 1):
        for box, number, crowd, area in zip(there.boxes, there.classes, there.crowd, there.areas, strict=True):
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": image,
                    "category_id": int(number) + 1,
                    "bbox": box.tolist(),
                    "area": float(area),
                    "iscrowd": int(crowd),
                }
            )
        for box, number, sure in zip(found.boxes, found.classes, found.scores, strict=True):
            results.append({"image_id": image, "category_id": int(number) + 1, "bbox": box.tolist(), "score": float(sure)})
    with contextlib.redirect_stdout(io.StringIO()):
        data = COCO()
        data.dataset = {
            "images": [{"id": number} for number in range(1, len(ground_truths) + 1)],
            "annotations": annotations,
            "categories": [{"id": number} for number in range(1, classes + 1)],
        }
        data.createIndex()
        found_data = data.loadRes(results) if results else COCO()
        evaluation = COCOeval(data, found_data, "bbox")
        evaluation.params.imgIds = list(range(1, len(ground_truths) + 1))
        evaluation.params.catIds = list(range(1, classes + 1))
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation


def drawn_images(seed: int, images: int, classes: int, busy: int) -> tuple[list[GroundTruth], list[Predictions]]:
    """Objects of all sizes, some of them crowds or with an area less than their box; detections near them, twice, beside them, of
    the wrong class; scores that are often the same; images of nothing; more detections of a class than count."""
    random = np.random.default_rng(seed)
    ground_truths, predictions = [], []
    for _ in range(images):
        count = int(random.integers(0, busy)) if random.random() > 0.2 else 0
        sides = np.exp(random.uniform(np.log(4), np.log(200), (count, 2)))
        if random.random() < 0.5:
            sides = np.round(sides)
        boxes = np.concatenate([np.round(random.uniform(0, 300, (count, 2))), sides], axis=1)
        numbers = random.integers(0, classes, count)
        areas = boxes[:, 2] * boxes[:, 3] * random.choice([1.0, 0.6], count)
        ground_truths.append(truth(boxes, numbers, random.random(count) < 0.15, areas))
        near = np.concatenate(
            [boxes + random.normal(0, scale, boxes.shape) * boxes[:, [2, 3, 2, 3]] for scale in (0.0, 0.05, 0.2)]
        )
        strays = np.concatenate([random.uniform(0, 300, (busy, 2)), random.uniform(4, 150, (busy, 2))], axis=1)
        found = np.concatenate([near, strays, np.repeat(strays[:1], int(random.integers(0, 120)), axis=0)])
        found[:, 2:] = np.maximum(found[:, 2:], 1.0)
        own = np.concatenate([np.tile(numbers, 3), random.integers(0, classes, len(found) - 3 * count)])
        own = np.where(random.random(len(own)) < 0.1, random.integers(0, classes, len(own)), own)
        sure = np.round(random.random(len(found)), int(random.choice([1, 2, 8])))
        keep = random.random(len(found)) < random.choice([0.0, 0.6, 1.0], p=[0.15, 0.35, 0.5])
        predictions.append(answer(found[keep], own[keep], sure[keep]))
    return ground_truths, predictions


def assert_same(ground_truths: list[GroundTruth], predictions: list[Predictions], classes: int) -> Score:
    mine, theirs = score(ground_truths, predictions, classes), by_pycocotools(ground_truths, predictions, classes)
    assert np.array_equal(mine.precision, theirs.eval["precision"])
    assert np.array_equal(mine.recall, theirs.eval["recall"])
    assert list(mine.figures().values()) == theirs.stats.tolist()
    return mine


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 5), st.sampled_from([2, 6, 20]))
def test_every_figure_and_every_curve_is_that_of_pycocotools(seed: int, images: int, classes: int, busy: int) -> None:
    assert_same(*drawn_images(seed, images, classes, busy), classes)


def test_many_images_of_many_classes_are_scored_as_by_pycocotools() -> None:
    ground_truths, predictions = drawn_images(1, 120, 20, 12)
    figures = assert_same(ground_truths, predictions, 20).figures()
    assert 0.01 < figures["AP"] < 0.99 and all(value > NOTHING for value in figures.values())


def test_average_precision_of_a_class_is_that_of_pycocotools_for_it_alone() -> None:
    ground_truths, predictions = drawn_images(2, 30, 4, 10)
    mine = score(ground_truths, predictions, 4)
    theirs = by_pycocotools(ground_truths, predictions, 4).eval["precision"]
    for number in range(4):
        own = theirs[:, :, number, 0, -1]
        assert mine.of_class(number)["AP"] == np.mean(own[own > -1])
        assert mine.of_class(number)["AP50"] == np.mean(own[0])


def test_iou_that_lies_on_a_threshold_counts() -> None:
    """10 of 20 pixels: exactly 0.5."""
    result = assert_same([truth([(0, 0, 20, 1)], [0])], [answer([(0, 0, 10, 1)], [0], [0.9])], 1)
    assert result.recall[:, 0, 0, -1].tolist() == [1.0] + [0.0] * 9


def test_of_two_detections_of_one_object_the_surer_is_right() -> None:
    there, found = [truth([(0, 0, 50, 50)], [0])], [answer([(0, 0, 50, 50), (0, 0, 50, 49)], [0, 0], [0.5, 0.9])]
    result = assert_same(there, found, 1)
    assert result.figures()["AP50"] == pytest.approx(1.0)


def test_what_lies_on_a_crowd_is_neither_right_nor_wrong() -> None:
    there = [truth([(0, 0, 100, 100), (200, 0, 50, 50)], [0, 0], [True, False])]
    found = [answer([(10, 10, 20, 20), (40, 40, 20, 20), (200, 0, 50, 50)], [0, 0, 0], [0.9, 0.8, 0.7])]
    assert assert_same(there, found, 1).figures()["AP"] == pytest.approx(1.0)


def test_area_is_that_of_the_object_not_of_its_box() -> None:
    there = [truth([(0, 0, 40, 40)], [0], areas=[900.0])]
    result = assert_same(there, [answer([(0, 0, 40, 40)], [0], [0.9])], 1)
    assert result.figures()["AP_small"] == pytest.approx(1.0) and result.figures()["AP_medium"] == NOTHING
    assert list(AREAS) == ["all", "small", "medium", "large"]


@pytest.mark.parametrize("found", [answer(), answer([(0, 0, 5, 5)], [0], [0.9])])
def test_where_nothing_is_to_be_found_there_is_no_figure(found: Predictions) -> None:
    assert set(score([truth()], [found], 1).figures().values()) == {NOTHING}


def test_where_nothing_is_found_all_figures_are_zero() -> None:
    figures = score([truth([(0, 0, 50, 50)], [0])], [answer()], 1).figures()
    assert figures["AP"] == figures["AR_100"] == figures["AP_medium"] == 0.0
    assert tuple(figures) == FIGURES


def test_the_curve_of_all_is_the_mean_of_those_there_are() -> None:
    ground_truths = [truth([(0, 0, 50, 50), (100, 100, 50, 50)], [0, 1])]
    result = score(ground_truths, [answer([(0, 0, 50, 50)], [0], [0.9])], 3)
    assert result.curve(0).tolist() == pytest.approx([1.0] * 101) and result.curve(1).tolist() == [0.0] * 101
    assert result.curve().tolist() == pytest.approx([0.5] * 101) and result.curve(2)[0] == NOTHING


def test_overlaps_of_boxes_that_only_touch_are_zero() -> None:
    boxes = np.array([[0, 0, 10, 10], [10, 0, 10, 10], [0, 0, 0, 0]], np.float64)
    found = compute_overlaps(boxes, boxes, np.zeros(3, np.bool_))
    assert found.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
