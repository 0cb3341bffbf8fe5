"""The blocks of MobileNetV3, written out in NumPy. The whole network is compared with the published one in `ssd_network_spec.py`."""

from __future__ import annotations

import numpy as np
import pytest

from tests.detectors.layers.random_boxes import array
from tests.detectors.seeded import set_weights
from unstall.detectors.layers.conv_norm import list_leaf_layers
from unstall.detectors.layers.mobilenet_v3 import (
    TAIL,
    Block,
    ConvNorm,
    InvertedResidual,
    SqueezeExcite,
    make_divisible,
    reduce_width,
)
from unstall.detectors.layers.resnet import Norms

NORMS = Norms(frozen=False, epsilon=1e-3, momentum=0.97)
RANDOM = np.random.default_rng(0)


def picture(channels: int, side: int = 5) -> np.ndarray:
    return RANDOM.normal(0, 2, (2, side, side, channels)).astype(np.float32)


def hard_sigmoid(x: np.ndarray) -> np.ndarray:
    return np.clip(x + 3, 0, 6) / 6


@pytest.mark.parametrize(("channels", "wanted"), [(18, 24), (30, 32), (120, 120), (168, 168), (240, 240), (3, 8), (4, 8)])
def test_numbers_of_channels_are_multiples_of_eight_and_lose_no_tenth(channels: int, wanted: int) -> None:
    assert make_divisible(channels) == wanted


def test_channels_are_weighed_by_what_all_are_on_average() -> None:
    layer, x = SqueezeExcite(72, "block.2"), picture(72)
    y = layer(x)
    set_weights(layer)
    y = array(layer(x))
    assert layer.fc1.filters == 24
    (first, first_bias), (second, second_bias) = ([array(each) for each in fc.variables] for fc in (layer.fc1, layer.fc2))
    squeezed = np.maximum(x.mean(axis=(1, 2)) @ first[0, 0] + first_bias, 0)
    weight = hard_sigmoid(squeezed @ second[0, 0] + second_bias)
    assert np.allclose(y, x * weight[:, None, None, :], atol=1e-4)


def test_a_convolution_of_each_channel_by_itself_is_normed_and_cut() -> None:
    layer, x = ConvNorm(None, 3, NORMS, "hard_silu", "stem", stride=2), picture(6, side=6)
    layer(x)
    set_weights(layer)
    kernel = array(layer.conv.kernel)[..., 0]
    gamma, beta, mean, variance = (
        array(getattr(layer.norm, name)) for name in ("gamma", "beta", "moving_mean", "moving_variance")
    )
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    filtered = np.stack(
        [[(wide[:, i : i + 3, j : j + 3] * kernel).sum(axis=(1, 2)) for j in (0, 2, 4)] for i in (0, 2, 4)], axis=0
    ).transpose(2, 0, 1, 3)
    normed = (filtered - mean) / np.sqrt(variance + 1e-3) * gamma + beta
    assert np.allclose(array(layer(x, training=False)), normed * hard_sigmoid(normed), atol=1e-4)


@pytest.mark.parametrize(
    ("block", "channels", "parts", "adds"),
    [
        (Block(3, 16, 16, False, "relu", 1), 16, ["0.0", "0.1", "1.0", "1.1"], True),
        (Block(3, 24, 12, False, "relu", 2), 16, ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1"], False),
        (
            Block(5, 32, 16, True, "hard_silu", 1), 16,
            ["0.0", "0.1", "1.0", "1.1", "2.fc1", "2.fc2", "3.0", "3.1"], True,
        ),
    ],
)  # fmt: skip
def test_a_block_numbers_the_parts_that_it_has(block: Block, channels: int, parts: list[str], adds: bool) -> None:
    layer, x = InvertedResidual(block, channels, NORMS, "body.3"), picture(channels)
    layer(x)
    assert sorted(each.name for each in list_leaf_layers(layer)) == [f"body.3.block.{part}" for part in parts]
    layer.narrow.norm.gamma.assign(np.zeros(block.filters))  # so that the block itself gives nothing
    y = array(layer(x, training=False))
    assert np.allclose(y, x if adds else 0, atol=1e-6)
    assert y.shape == (2, 5 // block.stride + block.stride - 1, 5 // block.stride + block.stride - 1, block.filters)


def test_a_reduced_tail_has_half_the_channels_but_widens_first_to_as_many() -> None:
    assert [(each.expanded, each.filters) for each in reduce_width(TAIL, 2)] == [(672, 80), (480, 80), (480, 80)]
    assert reduce_width(TAIL, 1) == list(TAIL)
