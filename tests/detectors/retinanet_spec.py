"""RetinaNet's own: its targets, its losses written out, what it finds, and that nothing makes it diverge."""

from __future__ import annotations

from functools import cache

import keras
import numpy as np
import pytest
from hypothesis import given, settings

from tests.detectors.gradients import Differentiating, slopes_of
from tests.detectors.layers.random_boxes import SEEDS, array, plain_iou, some_examples
from tests.detectors.seeded import BOXES, batch, set_weights
from unstall.backends.devices import trace_for_gpu
from unstall.config.detectors.retinanet import compute_three_sizes
from unstall.detectors import create_model
from unstall.detectors.detector import Detector, Targets, divide_terms
from unstall.detectors.layers.boxes import Tensor
from unstall.training.step.step import LossModel

PARAMETERS = {"retinanet_resnet50_fpn": 34_014_999, "retinanet_resnet50_fpn_v2": 38_198_935}  # as torchvision gives them
PX = (64, 96)


@cache
def tiny(box_loss: str = "giou") -> Detector:
    detector = create_model("retinanet_tiny", image_size=PX, box_loss=box_loss)
    set_weights(detector)
    return detector


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="the same on every backend, and built most quickly on PyTorch")
@pytest.mark.parametrize("variant", PARAMETERS)
def test_it_has_as_many_parameters_as_published(variant: str) -> None:
    with keras.StatelessScope(initialize_variables=False):  # nobody needs their values
        detector = create_model(variant, image_size=(64, 64))
    statistics = (
        ("gamma", "beta", "moving_mean", "moving_variance")
        if detector.settings.freeze_batch_norm
        else ("moving_mean", "moving_variance")
    )
    counted = [variable for variable in detector.variables if variable.name not in statistics]
    assert sum(int(np.prod(variable.shape)) for variable in counted) == PARAMETERS[variant]


def test_it_has_as_many_anchors_as_outputs() -> None:
    raw = tiny()(batch(PX, 6)["images"])
    assert [each.shape[1] for each in raw["classes"]] == [len(each) for each in tiny().anchors_of_level]
    assert sum(each.shape[1] for each in raw["boxes"]) == len(tiny().anchors)
    assert [compute_three_sizes(px) for px in (32, 64, 128)] == [(32, 40, 50), (64, 80, 101), (128, 161, 203)]


def test_it_begins_with_the_prior() -> None:
    raw = create_model("retinanet_tiny", image_size=PX)(batch(PX, 6)["images"])
    assert all(abs(float(keras.ops.mean(keras.ops.sigmoid(each))) - 0.01) < 0.002 for each in raw["classes"])


def labels(anchors: np.ndarray, boxes: np.ndarray) -> list[int]:
    """Of one image: each anchor's box, -1 for background, -2 for neither."""
    if not len(boxes):
        return [-1] * len(anchors)
    overlap = np.array([[plain_iou(anchor, box) for box in boxes] for anchor in anchors.astype(np.float64)])
    own, best = overlap.argmax(axis=1), overlap.max(axis=1)
    result = np.where(best >= 0.5, own, np.where(best < 0.4, -1, -2))
    for column in range(len(boxes)):
        rows = overlap[:, column] >= overlap[:, column].max() * (1 - 1e-7)
        result[rows] = own[rows]
    return [int(each) for each in result]


@pytest.mark.parametrize("box_loss", ["giou", "l1"])
def test_its_losses_are_those_of_the_paper_image_by_image(box_loss: str) -> None:
    detector = tiny(box_loss)
    given_batch = batch(PX, 6, counts=(4, 0))
    raw = detector(given_batch["images"], training=False)
    logits, codes = (
        np.concatenate([array(each) for each in raw[key]], axis=1).astype(np.float64) for key in ("classes", "boxes")
    )
    anchors = detector.anchors.astype(np.float64)
    alpha, gamma = detector.settings.focal_alpha, detector.settings.focal_gamma
    class_losses, box_losses = [], []
    for image, count in enumerate((4, 0)):
        boxes = given_batch["boxes"][image, :count].astype(np.float64)
        label = np.array(labels(anchors, boxes))
        target = np.zeros_like(logits[image])
        for row in np.flatnonzero(label >= 0):
            target[row, given_batch["classes"][image, label[row]] + 1] = 1
        right = 1 / (1 + np.exp(-logits[image] * (2 * target - 1)))
        focal = np.where(target > 0, alpha, 1 - alpha) * (1 - right) ** gamma * -np.log(right)
        objects = np.flatnonzero(label >= 0)
        class_losses.append(focal[label != -2].sum() / max(1, len(objects)))
        own = [box_distance(codes[image, row], anchors[row], boxes[label[row]], box_loss) for row in objects]
        box_losses.append(sum(own) / max(1, len(objects)))
    targets = Targets(given_batch["boxes"], given_batch["classes"], given_batch["mask"])
    found = divide_terms(detector.compute_terms(raw, targets))
    assert np.isclose(float(found["class"]), np.mean(class_losses), rtol=1e-4)
    assert np.isclose(float(found["box"]), np.mean(box_losses), rtol=1e-4)


def box_distance(code: np.ndarray, anchor: np.ndarray, box: np.ndarray, kind: str) -> float:
    size, centre = anchor[2:] - anchor[:2], (anchor[:2] + anchor[2:]) / 2
    box_size, box_centre = box[2:] - box[:2], (box[:2] + box[2:]) / 2
    if kind == "l1":
        wanted = np.concatenate([(box_centre - centre) / size, np.log(box_size / size)])
        return float(np.abs(code - wanted).sum())
    half = np.exp(np.minimum(code[2:], np.log(1000 / 16))) * size / 2
    middle = code[:2] * size + centre
    found = np.concatenate([middle - half, middle + half])
    shared = plain_iou(found, box)
    area = float((4 * half.prod()) + box_size.prod())
    union = area / (1 + shared)
    around = float((np.maximum(found[2:], box[2:]) - np.minimum(found[:2], box[:2])).prod())
    return 1 - shared + (around - union) / around


def test_losses_that_are_computed_again_on_a_card_are_the_same_and_so_are_their_gradients() -> None:
    given = batch(PX, 6)
    raw = {name: [array(each) for each in outputs] for name, outputs in tiny()(given["images"]).items()}
    targets = Targets(given["boxes"], given["classes"], given["mask"])

    def total(classes: list[Tensor]) -> Tensor:
        terms = tiny().compute_terms({**raw, "classes": classes}, targets)
        return sum(term.total / term.count for term in terms.values())

    plain, slopes = slopes_of(total, raw["classes"])
    with trace_for_gpu():
        again, same = slopes_of(total, raw["classes"])
    assert again == pytest.approx(plain, rel=1e-6)
    for one, other in zip(same, slopes, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-7)


def test_what_stands_in_places_without_a_box_does_not_matter() -> None:
    clean = batch(PX, 6, counts=(3, 0))
    dirty = {name: value.copy() for name, value in clean.items()}
    random = np.random.default_rng(1)
    dirty["boxes"][~clean["mask"]] = random.uniform(-1e6, 1e6, (int((~clean["mask"]).sum()), 4))
    dirty["boxes"][1, 0] = np.nan
    dirty["classes"][~clean["mask"]] = 10**6
    losses = [
        tiny().compute_losses(each["images"], Targets(each["boxes"], each["classes"], each["mask"]), training=False)
        for each in (clean, dirty)
    ]
    for name in ("class", "box"):
        assert float(losses[0][name]) == float(losses[1][name])


def spoiled(seed: int) -> dict[str, np.ndarray]:
    """Any number of boxes, some without area, outside, inside out, huge or not finite; any picture."""
    random = np.random.default_rng(seed)
    made = batch(PX, 6, counts=tuple(random.integers(0, BOXES + 1, 2)), seed=seed)
    for image in range(2):
        for place in range(BOXES):
            kind = random.integers(0, 8)
            box = made["boxes"][image, place]
            if kind == 0:
                box[2:] = box[:2]
            elif kind == 1:
                box[:] = box[[2, 3, 0, 1]]
            elif kind == 2:
                box[:] = box + 1e5
            elif kind == 3:
                box[:] = (-1e7, -1e7, 1e7, 1e7)
            elif kind == 4:
                box[random.integers(4)] = random.choice([np.nan, np.inf, -np.inf])
    made["classes"] = np.where(random.random(made["classes"].shape) < 0.1, 1000, made["classes"]).astype(np.int32)
    made["images"][random.integers(2)] = random.choice([0, 128, 255])
    return made


@cache
def differentiating(box_loss: str) -> Differentiating:
    return Differentiating(LossModel(tiny(box_loss)))


@pytest.mark.parametrize("box_loss", ["giou", "l1"])
@settings(some_examples, max_examples=15)
@given(SEEDS)
def test_no_content_gives_a_number_that_is_not_finite(box_loss: str, seed: int) -> None:
    found = differentiating(box_loss)(spoiled(seed))
    assert all(np.isfinite(loss) and loss >= 0 for loss in found.losses.values()), found.losses
    wrong = [name for name, gradient in found.gradients.items() if not np.isfinite(gradient).all()]
    assert not wrong


def test_it_finds_what_its_outputs_say() -> None:
    """One anchor is sure of a class, and its box is its own anchor."""
    detector = tiny()
    logits = [np.full((1, len(each), 7), -20.0, np.float32) for each in detector.anchors_of_level]
    codes = [np.zeros((1, len(each), 4), np.float32) for each in detector.anchors_of_level]
    row = int(np.argmin(np.abs(detector.anchors_of_level[0] - (20, 20, 36, 36)).sum(axis=1)))
    logits[0][0, row, 1 + 2] = 3.0
    logits[0][0, row, 0] = 9.0  # the output that stands for background is no class
    found = detector.select_detections({"classes": logits, "boxes": codes})
    assert array(found.classes)[0, :2].tolist() == [2, -1]
    assert np.isclose(array(found.scores)[0, 0], 1 / (1 + np.exp(-3.0)))
    anchor = detector.anchors_of_level[0][row]
    assert np.allclose(array(found.boxes)[0, 0], np.clip(anchor, 0, (PX[1], PX[0], PX[1], PX[0])))
    assert array(found.boxes).shape == (1, detector.settings.max_detections, 4)


def test_boxes_are_cut_to_what_is_no_padding() -> None:
    found = tiny().compute_detections(batch(PX, 6)["images"], sizes=np.array([[40, 50], [64, 96]], np.int32))
    boxes = array(found.boxes)
    assert boxes[0].max(axis=0).tolist() <= [50, 40, 50, 40]
    assert boxes[1, :, 2].max() > 50
