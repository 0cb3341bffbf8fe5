"""The seven published variants give what torchvision gives: raw outputs, losses in training and what is found, with the same weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import keras
import numpy as np
import pytest

from tests.detectors.golden import CLASSES, GOLDENS, Golden, drawn, images, kept, regions, targets
from tests.detectors.parts.drawing import array, plain_iou
from unstall.detectors import build, family_of
from unstall.detectors.detector import Detector, Targets
from unstall.detectors.weights.layout import slots

LOSSES = {
    "retinanet": {"classification": "class", "bbox_regression": "box"},
    "ssd": {"classification": "class", "bbox_regression": "box"},
    "faster_rcnn": {
        "loss_classifier": "class", "loss_box_reg": "box", "loss_objectness": "objectness", "loss_rpn_box_reg": "proposal_box",
    },
}  # fmt: skip
CLOSE = 1e-3

every_variant = pytest.mark.parametrize("golden", GOLDENS.values(), ids=list(GOLDENS))


@cache
def made(variant: str) -> tuple[Detector, dict[str, np.ndarray]]:
    golden = GOLDENS[variant]
    detector = build(variant, image_px=golden.px, classes=CLASSES, **golden.changes)
    with np.load(golden.path) as file:
        wanted = {name: file[name] for name in file.files}
    for key, slot in slots(detector).items():
        layer, _, kind = key.rpartition(".")
        values = drawn(key, slot.shape) * np.float32(wanted.get(f"factor {layer}", 1.0))
        values = wanted.get(f"{kind} {layer}", values)
        slot.variable.assign(np.ascontiguousarray(slot.to_ours(values)))
    return detector, wanted


@every_variant
def test_raw_outputs_are_torchvisions(golden: Golden) -> None:
    detector, wanted = made(golden.variant)
    for name, values in raw_outputs(detector, golden).items():
        expected = wanted[f"raw {name}"]
        assert np.linalg.norm(kept(values)[:-1] - expected[:-1]) < CLOSE * np.linalg.norm(expected[:-1]), name
        assert kept(values)[-1] == pytest.approx(expected[-1], rel=CLOSE), name


def raw_outputs(detector: Any, golden: Golden) -> dict[str, np.ndarray]:
    if family_of(golden.variant) != "faster_rcnn":
        raw = detector(images(golden), training=False)
        return {name: np.concatenate([array(level) for level in raw[name]], axis=1) for name in ("classes", "boxes")} | {
            "anchors": detector.anchors
        }
    levels = detector.levels(detector.prepared(images(golden)), training=False)
    raw = {name: np.concatenate([array(level) for level in parts], axis=1) for name, parts in detector.proposer(levels).items()}
    own = keras.ops.convert_to_tensor(regions(golden))
    used = keras.ops.ones(own.shape[:2], "bool")
    second = detector.second_stage(levels, own, used, training=False)
    return {**raw, **{name: array(second[name]) for name in ("classes", "boxes")}}


@every_variant
def test_losses_are_torchvisions(golden: Golden) -> None:
    detector, wanted = made(golden.variant)
    given = {name: keras.ops.convert_to_tensor(values) for name, values in targets(golden).items()}
    before = {variable.path: array(variable.value) for variable in detector.variables}
    found = detector.training_losses(images(golden), Targets(given["boxes"], given["classes"], given["mask"]))
    for variable in detector.variables:
        variable.assign(before[variable.path])  # statistics move in training
    for theirs, ours in LOSSES[family_of(golden.variant)].items():
        assert float(found[ours]) == pytest.approx(float(wanted[f"loss {theirs}"]), rel=CLOSE), ours


@every_variant
def test_it_finds_what_torchvision_finds(golden: Golden) -> None:
    """Boxes whose scores differ by less than a float32 can hold may come in another order: each is looked for in all of ours."""
    detector, wanted = made(golden.variant)
    found = detector.detect(images(golden))
    boxes, scores, classes = array(found.boxes), array(found.scores), array(found.classes)
    for number in range(2):
        expected = [wanted[f"found {name} {number}"] for name in ("boxes", "scores", "labels")]
        assert int((classes[number] >= 0).sum()) == len(expected[1])
        missing = [
            (label, float(score))
            for box, score, label in zip(*expected, strict=True)
            if not any(
                plain_iou(box.astype(np.float64), other.astype(np.float64)) > 0.99
                for other in boxes[number][(classes[number] + 1 == label) & (abs(scores[number] - score) < CLOSE)]
            )
        ]
        assert not missing, f"{len(missing)} of {len(expected[1])}"
