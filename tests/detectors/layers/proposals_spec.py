"""What the first stage is to propose, found by a plain program that takes one image and one level after the other."""

from __future__ import annotations

import math

import numpy as np
from keras import ops

from tests.detectors.gradients import compiled
from tests.detectors.layers.random_boxes import array, plain_iou
from unstall.data.anchors import create_pyramid_anchors
from unstall.detectors.layers.rpn import propose

IMAGE = (96, 128)
GRIDS = [(24, 32), (12, 16), (3, 4)]
ANCHORS = create_pyramid_anchors(IMAGE, GRIDS, [(16,), (32,), (64,)], (0.5, 1.0, 2.0))


def decoded(code: np.ndarray, anchor: np.ndarray, height: float, width: float) -> np.ndarray:
    w, h = anchor[2] - anchor[0], anchor[3] - anchor[1]
    x, y = anchor[0] + w / 2 + code[0] * w, anchor[1] + h / 2 + code[1] * h
    w, h = w * math.exp(min(code[2], math.log(1000 / 16))), h * math.exp(min(code[3], math.log(1000 / 16)))
    corners = np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2])
    return np.clip(corners, 0, [width, height, width, height])


def greedily(boxes: list[np.ndarray], nms_iou_threshold: float) -> list[int]:
    stay: list[int] = []
    for number, own in enumerate(boxes):
        if all(plain_iou(own, boxes[better]) <= nms_iou_threshold for better in stay):
            stay.append(number)
    return stay


def proposed(
    logits: list, codes: list, image: int, size: tuple[float, float], per_level: int, most: int, least: float
) -> list[tuple[float, np.ndarray]]:
    found = []
    for level, anchors in enumerate(ANCHORS):
        order = np.argsort(-logits[level][image], kind="stable")[:per_level]
        pairs = [
            (1 / (1 + math.exp(-float(logits[level][image][each]))), decoded(codes[level][image][each], anchors[each], *size))
            for each in order
        ]
        pairs = [(s, b) for s, b in pairs if b[2] - b[0] >= 1e-3 and b[3] - b[1] >= 1e-3 and s >= least]
        found += [pairs[stays] for stays in greedily([b for _, b in pairs], 0.7)]
    return sorted(found, key=lambda pair: -pair[0])[:most]


def outputs(seed: int, batch: int = 2, spread: float = 0.4) -> tuple[list, list]:
    random = np.random.default_rng(seed)
    logits = [random.normal(size=(batch, len(each))).astype("float32") * 2 for each in ANCHORS]
    codes = [random.normal(size=(batch, len(each), 4)).astype("float32") * spread for each in ANCHORS]
    return logits, codes


def ours(logits: list, codes: list, sizes: np.ndarray | None, **how: float) -> tuple[np.ndarray, np.ndarray]:
    extent = (96.0, 128.0) if sizes is None else tuple(ops.convert_to_tensor(sizes[:, axis : axis + 1]) for axis in (0, 1))
    logits, codes = ([ops.convert_to_tensor(each) for each in part] for part in (logits, codes))
    found = compiled(lambda *raw: tuple(propose(*raw, ANCHORS, extent, nms_iou_threshold=0.7, **how)))(logits, codes)  # type: ignore[arg-type]
    return array(found[0]), array(found[1])


def test_the_same_as_image_by_image_and_level_by_level() -> None:
    for seed, per_level, most, least in ((1, 300, 200, 0.0), (2, 50, 400, 0.0), (3, 2000, 60, 0.6)):
        logits, codes = outputs(seed)
        sizes = np.array([[96, 128], [70, 90]], "float32")
        boxes, is_used = ours(logits, codes, sizes, rpn_pre_nms_top_n=per_level, most=most, score_threshold=least)
        for image in range(2):
            expected = proposed(logits, codes, image, tuple(sizes[image]), per_level, most, least)
            assert is_used[image].sum() == len(expected), (seed, image, is_used[image].sum(), len(expected))
            assert is_used[image][: len(expected)].all()
            np.testing.assert_allclose(boxes[image][: len(expected)], [b for _, b in expected], atol=1e-3)


def test_what_is_nothing_inside_the_image_is_no_proposal() -> None:
    logits, codes = outputs(4, batch=1, spread=0.0)
    for level in codes:
        level[..., 0] = 50.0  # far to the right of everything
    boxes, is_used = ours(logits, codes, None, rpn_pre_nms_top_n=100, most=80, score_threshold=0.0)
    assert not is_used.any() and np.isfinite(boxes).all()


def test_a_probability_too_small_for_float32_still_counts() -> None:
    logits, codes = outputs(5, batch=1, spread=0.1)
    _, is_used = ours([each - 500 for each in logits], codes, None, rpn_pre_nms_top_n=100, most=40, score_threshold=0.0)
    assert is_used.all()


def test_codes_of_any_size_stay_finite() -> None:
    logits, codes = outputs(6, spread=1e20)
    boxes, _ = ours(logits, codes, None, rpn_pre_nms_top_n=100, most=80, score_threshold=0.0)
    assert np.isfinite(boxes).all()


def test_of_equal_ones_the_first_is_taken() -> None:
    """As torchvision does; chance would decide else which of two boxes suppresses the other."""
    logits, codes = outputs(7, batch=1, spread=0.1)
    logits = [np.round(each) for each in logits]
    boxes, is_used = ours(logits, codes, None, rpn_pre_nms_top_n=400, most=200, score_threshold=0.0)
    expected = [box for _, box in proposed(logits, codes, 0, (96, 128), 400, 200, 0.0)]
    assert is_used.all()
    np.testing.assert_allclose(boxes[0], expected, atol=1e-3)
