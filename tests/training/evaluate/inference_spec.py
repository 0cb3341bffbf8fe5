"""A detector at work on real files: where its boxes land, and how they are scored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.data.pipeline.pictures import data_set, example, some_data
from tests.training.evaluate.test_coco_metrics import by_pycocotools
from tests.training.tiny import NAMES, tiny_weights
from unstall.base.errors import InvalidInputError
from unstall.data.example import DataSet
from unstall.data.formats import read
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.detectors.detector import Detector, InferenceModel
from unstall.detectors.weights.store import build_from
from unstall.training.evaluate.evaluation import convert_predictions, evaluate, map_classes, read_ground_truth
from unstall.training.evaluate.inference import (
    compute_detections_at,
    create_pipeline,
    detect_examples,
    predict,
)

BATCH = 4  # for all: a batch of another size is compiled anew


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> InferenceModel:
    return InferenceModel(build_from(tiny_weights(tmp_path_factory.mktemp("weights") / "tiny.safetensors")))


@pytest.fixture
def detector(model: InferenceModel) -> Detector:
    return model.detector


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    path = tmp_path_factory.mktemp("shapes") / "set"
    write_shapes(path, Shapes(seed=3, count=10, width=150, height=110), "coco", {"val": 1.0})
    return read(path)


@pytest.mark.parametrize("size", [(96, 64), (64, 96), (30, 200), (301, 211)])
def test_boxes_come_back_to_the_pixels_of_the_stored_image(size: tuple[int, int], detector: Detector, tmp_path: Path) -> None:
    """The boxes that the pipeline has drawn on the canvas, as if the detector had found them."""
    stored = some_data(tmp_path, 3, *size)
    width, height = size
    boxes = [(0.1 * width, 0.2 * height, 0.5 * width, 0.9 * height), (0.0, 0.0, float(width), float(height))]
    stored = data_set([example(each.image.path, width, height, boxes) for each in stored.examples if each.image])
    (batch,) = create_pipeline(detector, stored, 3).batches()
    outputs = {"boxes": batch.boxes, "scores": batch.mask.astype(np.float32), "classes": batch.classes}
    for place in range(3):
        found = compute_detections_at(batch, place, outputs)
        np.testing.assert_allclose(found.boxes, boxes, atol=1e-3 * max(size))
        assert found.classes.tolist() == [0, 1]


def test_what_reaches_into_the_padding_is_cut_at_the_image(detector: Detector, tmp_path: Path) -> None:
    stored = some_data(tmp_path, 1, width=80, height=40)
    (batch,) = create_pipeline(detector, stored, 1).batches()
    height, width = detector.settings.image_size
    boxes = np.array([[[0, 0, width, height], [5, height - 4, 9, height]]], np.float32)
    outputs = {"boxes": boxes, "scores": np.ones((1, 2), np.float32), "classes": np.zeros((1, 2), np.int32)}
    assert compute_detections_at(batch, 0, outputs).boxes.tolist() == [
        [0, 0, 80, 40]
    ]  # the second lies beside the image altogether


def test_every_image_comes_once_and_one_that_cannot_be_read_is_named(model: InferenceModel, tmp_path: Path) -> None:
    stored = some_data(tmp_path, 7)
    (tmp_path / "002.jpg").write_bytes(b"no image")
    pipeline = create_pipeline(model.detector, stored, BATCH)
    found = dict(detect_examples(model, pipeline))
    assert sorted(found) == [0, 1, 3, 4, 5, 6] and list(pipeline.skipped.by_name) == ["002.jpg"]
    for each in found.values():
        assert (np.diff(each.scores) <= 0).all() and (each.boxes >= 0).all() and (each.boxes <= (96, 64, 96, 64)).all()
    assert sum(len(each.boxes) for each in found.values()) > 0


def test_an_image_alone_and_among_others_gives_the_same(model: InferenceModel, data: DataSet) -> None:
    together = dict(detect_examples(model, create_pipeline(model.detector, data, BATCH)))
    alone = dict(detect_examples(model, create_pipeline(model.detector, replace(data, examples=data.examples[:1]), BATCH)))
    np.testing.assert_allclose(alone[0].scores, together[0].scores, atol=1e-4)
    np.testing.assert_allclose(alone[0].boxes[:5], together[0].boxes[:5], atol=0.1)


def test_the_figures_are_those_that_pycocotools_gives_for_the_same_boxes(model: InferenceModel, data: DataSet) -> None:
    result = evaluate(model, data, NAMES, BATCH)
    to_data = map_classes(model.detector, NAMES, data)
    found = dict(detect_examples(model, create_pipeline(model.detector, data, BATCH)))
    ground_truths = [read_ground_truth(each) for each in data.examples]
    predictions = [convert_predictions(found[row], to_data) for row in range(len(data.examples))]
    theirs = by_pycocotools(ground_truths, predictions, len(data.classes))
    assert list(result.score.figures().values()) == theirs.stats.tolist()
    plain = result.as_plain()
    assert plain["images"] == 10 and [row["class"] for row in plain["classes"]] == list(data.classes)
    assert sum(row["objects"] for row in plain["classes"]) == data.box_count
    there = np.array(plain["confusion"]["table"])[:-1].sum()
    assert there == data.box_count


def test_a_detector_that_finds_what_is_there_scores_1(data: DataSet) -> None:
    """The scoring alone: what is marked, as if it had been found."""
    ground_truths = [read_ground_truth(each) for each in data.examples]
    from unstall.training.evaluate.coco_metrics import Predictions, score

    predictions = [Predictions(each.boxes, each.classes, np.full(len(each.boxes), 0.9)) for each in ground_truths]
    assert score(ground_truths, predictions, len(data.classes)).figures()["AP"] == pytest.approx(1.0)


def test_classes_are_matched_by_name_and_by_number_only_where_they_have_none(detector: Detector, data: DataSet) -> None:
    assert map_classes(detector, tuple(reversed(data.classes)), data).tolist() == [5, 4, 3, 2, 1, 0]
    some = replace(data, classes=("star", "square"))
    assert map_classes(detector, ("cube", "Square ", "sphere", "star", "cone", "die"), some).tolist() == [-1, 1, -1, 0, -1, -1]
    assert map_classes(detector, (), data).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(InvalidInputError, match="have no class in common"):
        map_classes(detector, ("a", "b", "c", "d", "e", "f"), data)
    with pytest.raises(InvalidInputError, match="6 classes of unknown names"):
        map_classes(detector, (), some)


def test_areas_that_coco_says_are_those_that_count(tmp_path: Path) -> None:
    import json

    some_data(tmp_path, 1)
    boxes = [{"image_id": 1, "category_id": 1, "bbox": [4, 6, 30, 40], "area": area} for area in (321.5, None, "much")]
    file = {"images": [{"id": 1, "file_name": "000.jpg"}], "annotations": boxes, "categories": [{"id": 1, "name": "a"}]}
    (tmp_path / "a.json").write_text(json.dumps(file))
    (stored,) = read(tmp_path / "a.json").examples
    assert read_ground_truth(stored).areas.tolist() == [321.5, 1200.0, 1200.0]


def test_what_is_found_is_plain_data(model: InferenceModel, data: DataSet) -> None:
    result = predict(model, data, NAMES, BATCH, score_threshold=0.0)
    assert [image["image"] for image in result["images"]] == [each.name for each in data.examples]
    boxes = [box for image in result["images"] for box in image["boxes"]]
    assert boxes and {box["class"] for box in boxes} <= set(NAMES)
    strict = predict(model, data, NAMES, BATCH, score_threshold=0.9)
    sure = [box for box in boxes if box["score"] >= 0.9]
    assert sum(len(image["boxes"]) for image in strict["images"]) == pytest.approx(len(sure), abs=2)


def test_where_no_image_can_be_read_it_is_an_error(model: InferenceModel, tmp_path: Path) -> None:
    stored = some_data(tmp_path, 2)
    for each in stored.examples:
        assert each.image is not None
        each.image.path.write_bytes(b"no image")
    with pytest.raises(InvalidInputError, match=r"None of the 2 images can be read. '00[01].jpg': "):
        predict(model, stored)
    with pytest.raises(InvalidInputError, match=r"No image of .* can be read. 00[01].jpg: "):
        evaluate(model, stored, ("a", "b", "c", "d", "e", "f"))
