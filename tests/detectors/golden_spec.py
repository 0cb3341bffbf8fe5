"""The seven published variants give what torchvision gives: raw outputs, losses in training and what is found, with the same weights."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest

from tests.detectors.golden import CLASSES, GOLDENS, Golden, drawn, images, kept, regions, targets
from tests.detectors.layers.random_boxes import array, plain_iou
from unstall.config.detectors import find_family
from unstall.detectors import create_model
from unstall.detectors.detector import Detector, Targets
from unstall.detectors.weights.layout import list_slots

LOSSES = {
    "retinanet": {"classification": "class", "bbox_regression": "box"},
    "ssd": {"classification": "class", "bbox_regression": "box"},
    "faster_rcnn": {
        "loss_classifier": "class", "loss_box_reg": "box", "loss_objectness": "objectness", "loss_rpn_box_reg": "proposal_box",
    },
}  # fmt: skip
CLOSE = 1e-3
TIED = 1e-5  # scores that a float32 may hold in either order
# PyTorch runs all; compiling each takes longer, and that the backends agree is checked elsewhere: there one of each family.
SEEN = (
    list(GOLDENS)
    if keras.backend.backend() == "torch"
    else ["retinanet_resnet50_fpn_v2", "ssd300_vgg16", "fasterrcnn_resnet50_fpn"]
)

every_variant = pytest.mark.parametrize("golden", [GOLDENS[name] for name in SEEN], ids=SEEN)


@cache
def made(variant: str) -> tuple[Detector, dict[str, np.ndarray]]:
    golden = GOLDENS[variant]
    detector = create_model(variant, image_size=golden.px, num_classes=CLASSES, **golden.changes)
    with np.load(golden.path) as file:
        wanted = {name: file[name] for name in file.files}
    for key, slot in list_slots(detector).items():
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
    if find_family(golden.variant) != "faster_rcnn":
        raw = detector(images(golden), training=False)
        return {name: np.concatenate([array(level) for level in raw[name]], axis=1) for name in ("classes", "boxes")} | {
            "anchors": detector.anchors
        }
    levels = detector.levels(detector.prepared(images(golden)), training=False)
    raw = {name: np.concatenate([array(level) for level in parts], axis=1) for name, parts in detector.proposer(levels).items()}
    own = keras.ops.convert_to_tensor(regions(golden))
    used = keras.ops.ones(own.shape[:2], "bool")
    second = detector.run_box_head(levels, own, used, training=False)
    return {**raw, **{name: array(second[name]) for name in ("classes", "boxes")}}


@every_variant
def test_losses_are_torchvisions(golden: Golden) -> None:
    detector, wanted = made(golden.variant)
    given = {name: keras.ops.convert_to_tensor(values) for name, values in targets(golden).items()}
    before = {variable.path: array(variable.value) for variable in detector.variables}
    found = detector.compute_losses(images(golden), Targets(given["boxes"], given["classes"], given["mask"]))
    for variable in detector.variables:
        variable.assign(before[variable.path])  # statistics move in training
    for theirs, ours in LOSSES[find_family(golden.variant)].items():
        assert float(found[ours]) == pytest.approx(float(wanted[f"loss {theirs}"]), rel=CLOSE), ours


@every_variant
def test_it_finds_what_torchvision_finds(golden: Golden) -> None:
    """Of two boxes with the same score, to the last digit, the one may suppress the other, or the other the one: such a box may stand
    for another of its class and score. (Regions smaller than a pixel of the map that they are read from all look the same.)"""
    detector, wanted = made(golden.variant)
    found = detector.detect(images(golden))
    for number in range(2):
        ours = [Found(*each) for each in zip(*(array(part[number]) for part in found), strict=True) if each[2] >= 0]
        names = ("boxes", "scores", "labels")
        theirs = [Found(*each) for each in zip(*(wanted[f"found {name} {number}"] for name in names), strict=True)]
        theirs = [each._replace(of_class=each.of_class - 1) for each in theirs]
        assert len(ours) == len(theirs)
        missing = [each for each in theirs if not any(each.is_same(other) for other in ours)]
        extra = [each for each in ours if not any(each.is_same(other) for other in theirs)]
        unlike = [each for each in missing if not any(each.is_tied(other) for other in extra)]
        assert not unlike and len(missing) <= 0.02 * len(theirs), f"{len(unlike)} of {len(theirs)} are not found: {unlike[:3]}"


class Found(NamedTuple):
    box: np.ndarray
    score: float
    of_class: int

    def is_same(self, other: Found) -> bool:
        """Boxes that were cut to nothing at the image's edge have no IoU: their edges are compared."""
        a, b = self.box.astype(np.float64), other.box.astype(np.float64)
        is_near = plain_iou(a, b) > 0.99 or bool(np.abs(a - b).max() < 0.1)
        return self.of_class == other.of_class and abs(self.score - other.score) < CLOSE and is_near

    def is_tied(self, other: Found) -> bool:
        return self.of_class == other.of_class and abs(self.score - other.score) < TIED
