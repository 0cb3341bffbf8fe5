"""The heads of a detector of two stages: the order of what comes out, and what norms look at."""

from __future__ import annotations

import numpy as np
from keras import ops

from tests.detectors.layers.random_boxes import array
from unstall.detectors.layers.resnet import Norms
from unstall.detectors.layers.rpn import BoxHead, RPNHead

CHANNELS, CELLS = 4, 7


def test_proposers_outputs_are_ordered_by_row_column_and_anchor() -> None:
    """As the anchors are. With one weight for each output, a pixel's outputs are multiples of its own value."""
    proposer = RPNHead(CHANNELS, convs=1, anchors_per_cell=3)
    levels = [np.random.default_rng(0).random((2, *shape, CHANNELS)).astype(np.float32) for shape in ((3, 5), (2, 2))]
    proposer([ops.convert_to_tensor(level) for level in levels])
    middle = np.zeros((3, 3, CHANNELS, CHANNELS), np.float32)
    middle[1, 1] = np.eye(CHANNELS)
    proposer.convs[0].kernel.assign(middle)
    for output in (proposer.logits, proposer.codes):
        first = np.zeros(output.kernel.shape, np.float32)
        first[..., 0, :] = 1 + np.arange(first.shape[-1])
        output.kernel.assign(first)
    found = proposer([ops.convert_to_tensor(level) for level in levels])
    for level, logits, codes in zip(levels, found["objects"], found["anchor_codes"], strict=True):
        pixels = level[..., 0].reshape(2, -1)
        np.testing.assert_allclose(array(logits).reshape(2, -1, 3), pixels[..., None] * [1, 2, 3], rtol=1e-5)
        expected = pixels[..., None, None] * (1 + np.arange(12).reshape(3, 4))
        np.testing.assert_allclose(array(codes).reshape(2, -1, 3, 4), expected, rtol=1e-5)


def test_no_two_convolutions_begin_with_the_same_weights() -> None:
    """Layers that begin alike are one layer until something else tells them apart."""
    head = BoxHead(CELLS, CHANNELS, convs=4, units=8, outputs=3, norms=Norms())
    head(ops.zeros((1, 2, CELLS, CELLS, CHANNELS)))
    kernels = [array(conv.kernel.value) for conv in head.convs]
    assert not any(np.array_equal(a, b) for number, a in enumerate(kernels) for b in kernels[number + 1 :])


def test_regions_keep_their_image_and_their_place() -> None:
    head = BoxHead(CELLS, CHANNELS, convs=0, units=8, outputs=3, norms=Norms())
    regions = np.random.default_rng(1).normal(size=(2, 5, CELLS, CELLS, CHANNELS)).astype(np.float32)
    together = head(ops.convert_to_tensor(regions))
    assert tuple(together["classes"].shape) == (2, 5, 3) and tuple(together["boxes"].shape) == (2, 5, 12)
    alone = head(ops.convert_to_tensor(regions[1:, 3:4]))
    for name, values in alone.items():
        np.testing.assert_allclose(array(together[name])[1, 3], array(values)[0, 0], atol=1e-5)


def test_regions_that_are_not_used_leave_the_norms_alone() -> None:
    head = BoxHead(CELLS, CHANNELS, convs=1, units=8, outputs=3, norms=Norms(frozen=False))
    regions = np.random.default_rng(3).normal(size=(1, 6, CELLS, CELLS, CHANNELS)).astype(np.float32)
    is_used = ops.convert_to_tensor(np.array([[True] * 4 + [False] * 2]))
    head(ops.convert_to_tensor(regions), training=False)
    norm, found, learned = head.norms[0], [], []
    for fill in (0.0, 1000.0):
        regions[:, 4:] = fill
        norm.moving_mean.assign(np.zeros(CHANNELS, np.float32))
        norm.moving_variance.assign(np.ones(CHANNELS, np.float32))
        found.append(array(head(ops.convert_to_tensor(regions), training=True, is_used=is_used)["classes"])[:, :4])
        learned.append(array(norm.moving_mean).copy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)
    np.testing.assert_allclose(learned[0], learned[1], atol=1e-5)
    assert learned[0].any()
