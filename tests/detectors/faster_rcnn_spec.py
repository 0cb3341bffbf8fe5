"""What Faster R-CNN is to compute, by plain programs beside it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from tests.detectors.gradients import compiled
from tests.detectors.layers.proposals_spec import decoded
from tests.detectors.layers.random_boxes import plain_iou
from unstall.config.detectors.faster_rcnn import VARIANTS, FasterRCNNSettings
from unstall.detectors.detector import Targets, divide_terms
from unstall.detectors.faster_rcnn import FasterRCNN, RegionTargets
from unstall.detectors.layers.conv_norm import list_leaf_layers
from unstall.detectors.layers.rng import Sample, draw_of
from unstall.detectors.layers.rpn import Proposals

SMALL = replace(VARIANTS["faster_rcnn_tiny"], image_size=(64, 96), num_classes=3)
ALL = 10**6  # more samples than there are anchors and regions: nothing is left to chance
MAX_BOXES = 4


@cache
def made(**changes: Any) -> FasterRCNN:
    """The small one with other settings. Made once: to draw first weights takes seconds."""
    return FasterRCNN(replace(SMALL, **changes))


def images(batch: int, settings: FasterRCNNSettings = SMALL, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (batch, *settings.image_size, 3), dtype=np.uint8)


def targets(*of_images: list[tuple[float, float, float, float, int]]) -> Targets:
    boxes = np.zeros((len(of_images), MAX_BOXES, 4), "float32")
    classes = np.full((len(of_images), MAX_BOXES), -1, "int32")
    for image, rows in enumerate(of_images):
        for number, (*corners, of_class) in enumerate(rows):
            boxes[image, number], classes[image, number] = corners, of_class
    return Targets(*(ops.convert_to_tensor(each) for each in (boxes, classes, classes >= 0)))


TWO_IMAGES = ([(8, 8, 40, 36, 0), (50, 20, 90, 60, 2)], [(20, 30, 44, 62, 1)])


def losses_of(detector: FasterRCNN, seed: int = 0) -> Any:
    """Compiled; norms stay as they are."""
    pictures = images(2, detector.settings)
    run = compiled(lambda *wanted: detector.compute_losses(pictures, Targets(*wanted), seed, training=False))
    return lambda wanted: run(*wanted)


def numbers(values: dict[str, Any]) -> dict[str, float]:
    return {name: float(ops.convert_to_numpy(value)) for name, value in values.items()}


# --- what it is made of ---


def learned_numbers(detector: FasterRCNN) -> int:
    """As torchvision counts: statistics are none, and norms that are frozen have none."""
    total = 0
    for layer in list_leaf_layers(detector):
        is_norm = isinstance(layer, keras.layers.BatchNormalization)
        if is_norm and detector.settings.freeze_batch_norm:
            continue
        total += sum(int(np.prod(v.shape)) for v in layer.weights if not v.path.endswith(("moving_mean", "moving_variance")))
    return total


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="the count is the same everywhere, and PyTorch is quickest to draw it"
)
def test_as_many_numbers_are_learned_as_in_the_published_ones() -> None:
    published = {
        "fasterrcnn_resnet50_fpn": 41_755_286,
        "fasterrcnn_resnet50_fpn_v2": 43_712_278,
        "fasterrcnn_mobilenet_v3_large_fpn": 19_386_354,
    }
    found = {name: learned_numbers(FasterRCNN(VARIANTS[name])) for name in published}
    assert found == published, found


def test_layers_have_the_published_keys() -> None:
    second = made(num_rpn_convs=2, num_head_convs=4)
    for detector, expected in (
        (made(), ["rpn.head.conv.0.0", "roi_heads.box_head.fc6", "roi_heads.box_head.fc7"]),
        (second, ["rpn.head.conv.1.0", "roi_heads.box_head.3.1", "roi_heads.box_head.5"]),
    ):
        keys = {layer.name: layer for layer in list_leaf_layers(detector)}
        both = ["rpn.head.cls_logits", "rpn.head.bbox_pred", "roi_heads.box_predictor.cls_score", "backbone.fpn.layer_blocks.3.0"]
        assert not {*expected, *both} - set(keys), sorted(keys)
        first = keys["roi_heads.box_head.5" if detector is second else "roi_heads.box_head.fc6"]
        assert first.flattened_from == (7, 7, 32) and keys["roi_heads.box_predictor.cls_score"].flattened_from is None


def test_levels_fit_their_anchors_whatever_the_size() -> None:
    for px in ((65, 97), (100, 70)):
        detector = made(image_size=px)
        levels = compiled(lambda pixels, own=detector: own.levels(own.prepared(pixels), training=False))(
            images(1, detector.settings)
        )
        assert [tuple(level.shape[1:3]) for level in levels] == detector.list_level_shapes(), px
        last, pooled = (ops.convert_to_numpy(level) for level in levels[-2:])
        assert (pooled == last[:, ::2, ::2]).all()
        raw = compiled(detector.proposer)(levels)
        assert [each.shape[1] for each in raw["objects"]] == [len(each) for each in detector.anchors_of_level]


def test_only_the_last_stages_learn() -> None:
    trained = made(trainable_backbone_layers=2)
    paths = " ".join(variable.path for variable in trained.trainable_variables)
    assert "layer4" in paths and "layer3" in paths and "layer2" not in paths and "conv1/" not in paths.split("layer3")[0]


# --- what it learns ---


def smooth_l1(distance: np.ndarray) -> float:
    distance = np.abs(distance)
    return float(np.where(distance < 1 / 9, distance**2 * 9 / 2, distance - 1 / 18).sum())


def encoded(wanted: np.ndarray, anchor: np.ndarray, weights: tuple[float, ...]) -> np.ndarray:
    w, h = anchor[2] - anchor[0], anchor[3] - anchor[1]
    box_w, box_h = wanted[2] - wanted[0], wanted[3] - wanted[1]
    x, y = (wanted[0] + wanted[2] - anchor[0] - anchor[2]) / 2, (wanted[1] + wanted[3] - anchor[1] - anchor[3]) / 2
    return np.array([x / w, y / h, np.log(box_w / w), np.log(box_h / h)]) * weights


def test_the_first_stage_learns_from_the_anchors_that_were_drawn() -> None:
    detector = made()
    random = np.random.default_rng(1)
    raw = {
        "objects": [random.normal(size=(2, len(each))).astype("float32") for each in detector.anchors_of_level],
        "anchor_codes": [random.normal(size=(2, len(each), 4)).astype("float32") * 0.3 for each in detector.anchors_of_level],
    }
    wanted = targets(*TWO_IMAGES)
    matches = detector.match_anchors(wanted)
    is_object, box_of = (ops.convert_to_numpy(each) for each in (matches.is_object, matches.box))
    place = np.array([[np.flatnonzero(is_object[image])[0], 5, 900, 0] for image in range(2)])
    chosen = np.array([[True, False, False, False]] * 2)
    used = np.array([[True, True, True, False], [True, True, False, False]])
    drawn = Sample(*(ops.convert_to_tensor(each) for each in (place, chosen, used)))
    found = numbers(divide_terms(detector.compute_anchor_terms(raw, wanted, matches, drawn)))
    logits, codes = (np.concatenate(raw[key], axis=1) for key in ("objects", "anchor_codes"))
    boxes = ops.convert_to_numpy(wanted.boxes)
    cross = distance = 0.0
    for image in range(2):
        for number in np.flatnonzero(used[image]):
            anchor, is_one = place[image, number], chosen[image, number]
            cross += np.log1p(np.exp(-logits[image, anchor] if is_one else logits[image, anchor]))
            if is_one:
                code = encoded(boxes[image, box_of[image, anchor]], detector.anchors[anchor], (1, 1, 1, 1))
                distance += smooth_l1(codes[image, anchor] - code)
    np.testing.assert_allclose([found["objectness"], found["proposal_box"]], [cross / 5, distance / 5], rtol=1e-5)


def test_the_second_stage_learns_the_box_of_the_regions_own_class() -> None:
    detector = made()
    random = np.random.default_rng(2)
    label = np.array([[1, 3, 0, 0, 0], [2, 0, 0, 0, 0]], "int32")
    used = np.array([[True] * 5, [True, True, False, False, False]])
    boxes = np.tile(np.array([10, 10, 40, 30], "float32"), (2, 5, 1)) + random.random((2, 5, 4)).astype("float32") * 5
    wanted = boxes + random.random((2, 5, 4)).astype("float32") * 3
    logits, codes = (random.normal(size=(2, 5, count)).astype("float32") for count in (4, 16))
    regions = RegionTargets(*(ops.convert_to_tensor(each) for each in (boxes, label, wanted, used)))
    outputs = {"classes": ops.convert_to_tensor(logits), "boxes": ops.convert_to_tensor(codes)}
    found = numbers(divide_terms(detector.compute_region_terms(outputs, regions)))
    cross = distance = 0.0
    for image, number in zip(*np.nonzero(used), strict=True):
        own, values = label[image, number], logits[image, number]
        cross += np.log(np.exp(values).sum()) - values[own]
        if own:
            code = encoded(wanted[image, number], boxes[image, number], (10, 10, 5, 5))
            distance += smooth_l1(codes[image, number, 4 * own : 4 * own + 4] - code)
    np.testing.assert_allclose([found["class"], found["box"]], [cross / 7, distance / 7], rtol=1e-5)


def test_regions_are_drawn_from_proposals_and_from_the_objects_themselves() -> None:
    detector = made(box_batch_size_per_image=ALL)
    proposed = np.zeros((2, 6, 4), "float32")
    proposed[0] = [[8, 8, 40, 38], [50, 22, 90, 60], [0, 0, 12, 12], [30, 30, 60, 60], [8, 8, 40, 36], [0, 0, 9, 9]]
    used = np.array([[True] * 4 + [False] * 2, [False] * 6])
    drawn = detector.learned(
        Proposals(*(ops.convert_to_tensor(each) for each in (proposed, used))), targets(*TWO_IMAGES), draw_of(0)
    )
    boxes, label, wanted, is_used = (ops.convert_to_numpy(each) for each in drawn)
    rows = {(tuple(b.tolist()), int(c)) for b, c in zip(boxes[0][is_used[0]], label[0][is_used[0]], strict=True)}
    own = {((8.0, 8.0, 40.0, 36.0), 1), ((50.0, 20.0, 90.0, 60.0), 3)}
    assert rows == own | {
        ((8.0, 8.0, 40.0, 38.0), 1), ((50.0, 22.0, 90.0, 60.0), 3), ((0.0, 0.0, 12.0, 12.0), 0), ((30.0, 30.0, 60.0, 60.0), 0)
    }  # fmt: skip
    assert is_used[1].sum() == 1 and label[1][is_used[1]].tolist() == [2]
    for image in range(2):
        for number in np.flatnonzero(is_used[image] & (label[image] > 0)):
            assert plain_iou(boxes[image, number], wanted[image, number]) >= 0.5


def test_losses_are_finite_whatever_the_batch_holds() -> None:
    losses = losses_of(made(num_head_convs=2, precision="mixed_bfloat16"))
    nothing: list[Any] = []
    for wanted in (targets(TWO_IMAGES[0], nothing), targets([(0, 0, 96, 64, 0), (3, 3, 4, 4, 1)], nothing)):
        found = numbers(losses(wanted))
        assert np.isfinite(list(found.values())).all() and min(found.values()) > 0, found
    empty = numbers(losses(targets(nothing, nothing)))
    assert empty["box"] == 0 and empty["proposal_box"] == 0 and empty["class"] > 0 and empty["objectness"] > 0


def test_with_all_of_them_drawn_chance_has_no_part() -> None:
    detector = made(rpn_batch_size_per_image=ALL, box_batch_size_per_image=ALL)
    found = [numbers(losses_of(detector, seed)(targets(*TWO_IMAGES))) for seed in (1, 2)]
    np.testing.assert_allclose(list(found[0].values()), list(found[1].values()), rtol=1e-5)


# --- what it finds ---


def raw_outputs(detector: FasterRCNN, count: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    corner, size = random.uniform(0, [70, 44], (2, count, 2)), random.uniform(5, 30, (2, count, 2))
    boxes = np.minimum(np.concatenate([corner, corner + size], axis=-1), [96, 64, 96, 64]).astype("float32")
    is_used = np.arange(count)[None] < np.array([[count], [count - 7]])
    return {
        "regions": Proposals(ops.convert_to_tensor(boxes), ops.convert_to_tensor(is_used)),
        "classes": ops.convert_to_tensor(random.normal(size=(2, count, 4)).astype("float32") * 2),
        "boxes": ops.convert_to_tensor(random.normal(size=(2, count, 16)).astype("float32")),
    }


def found_plainly(raw: dict[str, Any], image: int, size: tuple[float, float], most: int) -> list[tuple[float, int, np.ndarray]]:
    logits, codes = (ops.convert_to_numpy(raw[key])[image] for key in ("classes", "boxes"))
    regions, is_used = (ops.convert_to_numpy(each)[image] for each in raw["regions"])
    pairs = []
    for region in np.flatnonzero(is_used):
        scores = np.exp(logits[region]) / np.exp(logits[region]).sum()
        for label in range(1, 4):
            code = codes[region, 4 * label : 4 * label + 4] / (10, 10, 5, 5)
            corners = decoded(code, regions[region], *size)
            if scores[label] > 0.05 and min(corners[2:] - corners[:2]) >= 0.01:
                pairs.append((float(scores[label]), label - 1, corners))
    pairs.sort(key=lambda pair: -pair[0])
    stay: list[tuple[float, int, np.ndarray]] = []
    for pair in pairs:
        if all(pair[1] != better[1] or plain_iou(pair[2], better[2]) <= 0.5 for better in stay):
            stay.append(pair)
    return stay[:most]


def test_detections_are_those_of_the_plain_way() -> None:
    for pre_nms_top_k, most in ((300, 100), (60, 20)):
        detector = made(pre_nms_top_k=pre_nms_top_k, max_detections=most)
        raw = raw_outputs(detector, 60, seed=most)
        sizes = np.array([[64, 96], [50, 80]], "float32")
        detections = compiled(lambda *given, own=detector: tuple(own.select_detections(*given)))
        boxes, scores, classes = (ops.convert_to_numpy(each) for each in detections(raw, sizes))
        for image in range(2):
            expected = found_plainly(raw, image, tuple(sizes[image]), most)
            count = len(expected)
            assert (classes[image] >= 0).sum() == count and classes[image][:count].tolist() == [c for _, c, _ in expected]
            np.testing.assert_allclose(scores[image][:count], [s for s, _, _ in expected], atol=1e-5)
            np.testing.assert_allclose(boxes[image][:count], [b for _, _, b in expected], atol=1e-3)


def test_detect_gives_what_the_raw_outputs_say() -> None:
    detector = made(score_threshold=0.0, max_detections=30)
    pictures = images(2)
    detect = compiled(lambda pixels: tuple(detector.compute_detections(pixels)))
    in_parts = compiled(lambda pixels: tuple(detector.select_detections(detector(pixels, training=False))))
    whole, parts = ([ops.convert_to_numpy(each) for each in way(pictures)] for way in (detect, in_parts))
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    assert (whole[2] >= 0).any()
