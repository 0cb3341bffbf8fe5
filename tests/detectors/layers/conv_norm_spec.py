"""Layers, against their plain definitions in NumPy."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

from tests.detectors.gradients import compiled
from tests.detectors.layers.random_boxes import array
from unstall.detectors.layers import conv_norm
from unstall.detectors.layers.conv_norm import (
    BatchNorm,
    Conv,
    DepthwiseConv,
    GroupNorm,
    list_leaf_layers,
    max_pool,
    precision,
    rematerialize,
)

random = np.random.default_rng(3)
IMAGE = random.normal(2.0, 3.0, (2, 7, 8, 4)).astype(np.float32)


def windows(x: np.ndarray, size: int, stride: int, dilation: int, around: int, fill: float = 0.0) -> np.ndarray:
    """(batch, rows, columns, size, size, channels)"""
    x = np.pad(x, ((0, 0), (around, around), (around, around), (0, 0)), constant_values=fill)
    reach = dilation * (size - 1) + 1
    rows, columns = ((side - reach) // stride + 1 for side in x.shape[1:3])
    return np.stack(
        [
            np.stack(
                [
                    x[:, row * stride : row * stride + reach : dilation, column * stride : column * stride + reach : dilation]
                    for column in range(columns)
                ],
                axis=1,
            )
            for row in range(rows)
        ],
        axis=1,
    )


@pytest.mark.parametrize(
    ("size", "stride", "dilation", "pad", "around"),
    [(1, 1, 1, None, 0), (1, 2, 1, None, 0), (3, 1, 1, None, 1), (3, 2, 1, None, 1), (3, 1, 2, None, 2), (3, 1, 1, 0, 0)],
)
def test_a_convolution_pads_as_much_before_as_behind(size: int, stride: int, dilation: int, pad: int | None, around: int) -> None:
    conv = Conv(5, size, stride=stride, dilation=dilation, pad=pad, name="conv", bias_initializer="ones")
    found = array(conv(IMAGE))
    expected = np.einsum("nrcijk,ijkf->nrcf", windows(IMAGE, size, stride, dilation, around), array(conv.kernel)) + 1
    assert np.allclose(found, expected, atol=1e-4)
    assert conv.compute_output_shape(IMAGE.shape) == found.shape


@pytest.mark.parametrize(("size", "stride"), [(3, 1), (3, 2), (5, 2)])
def test_a_depthwise_one_too(size: int, stride: int) -> None:
    conv = DepthwiseConv(size, stride=stride, use_bias=False, name="conv")
    found = array(conv(IMAGE))
    expected = np.einsum("nrcijk,ijk->nrck", windows(IMAGE, size, stride, 1, size // 2), array(conv.kernel)[..., 0])
    assert np.allclose(found, expected, atol=1e-4)
    assert conv.compute_output_shape(IMAGE.shape) == found.shape


@pytest.mark.parametrize("stride", [1, 2])
def test_one_of_1_by_1_is_the_same_on_a_card_where_it_is_no_product_of_matrices(
    stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    conv = Conv(5, 1, stride=stride, name="conv")
    as_product = array(conv(IMAGE))
    monkeypatch.setattr(conv_norm, "is_on_processor", lambda: False)
    np.testing.assert_allclose(array(conv(IMAGE)), as_product, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("size", "stride", "around"), [(3, 2, 1), (2, 2, 0), (3, 1, 1)])
def test_the_largest_of_each_window_is_taken(size: int, stride: int, around: int) -> None:
    positive = np.abs(IMAGE)
    found = array(max_pool(positive, size, stride, around))
    assert np.allclose(found, windows(positive, size, stride, 1, around).max(axis=(3, 4)))


def norm(**more: Any) -> BatchNorm:
    made = BatchNorm(name="norm", epsilon=1e-3, **more)
    made.build(IMAGE.shape)
    made.gamma.assign([1.0, 2.0, 0.5, 1.0])
    made.beta.assign([0.0, 1.0, 0.0, -1.0])
    made.moving_mean.assign([1.0, 2.0, 3.0, 4.0])
    made.moving_variance.assign([1.0, 4.0, 9.0, 16.0])
    return made


def normalised(x: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return (x - mean) / np.sqrt(variance + 1e-3) * (1.0, 2.0, 0.5, 1.0) + (0.0, 1.0, 0.0, -1.0)


def test_a_norm_takes_the_statistics_of_the_batch_and_learns_them() -> None:
    made = norm()
    mean, variance = IMAGE.mean(axis=(0, 1, 2)), IMAGE.var(axis=(0, 1, 2))
    assert np.allclose(array(made(IMAGE, training=True)), normalised(IMAGE, mean, variance), atol=1e-4)
    assert np.allclose(array(made.moving_mean), 0.9 * np.arange(1, 5) + 0.1 * mean, atol=1e-5)
    assert np.allclose(array(made.moving_variance), 0.9 * np.arange(1, 5) ** 2 + 0.1 * variance, atol=1e-4)


def test_the_statistics_of_values_far_from_0_keep_their_digits() -> None:
    made = norm()
    made.moving_mean.assign([1000.0] * 4)
    far = IMAGE + np.float32(1000)
    found = array(made(far, training=True))
    assert np.allclose(
        found,
        normalised(far.astype(np.float64), far.mean(axis=(0, 1, 2), dtype=np.float64), far.var(axis=(0, 1, 2), dtype=np.float64)),
        atol=2e-3,
    )


@pytest.mark.parametrize(("trainable", "training"), [(True, False), (False, True), (False, False)])
def test_frozen_or_in_evaluation_it_uses_and_keeps_what_it_has(trainable: bool, training: bool) -> None:
    made = norm(trainable=trainable)
    expected = normalised(IMAGE, np.arange(1, 5), np.arange(1, 5) ** 2)
    assert np.allclose(array(made(IMAGE, training=training)), expected, atol=1e-4)
    assert array(made.moving_mean).tolist() == [1, 2, 3, 4]
    assert len(made.trainable_variables) == (2 if trainable else 0)


def test_a_channel_that_never_varied_gives_finite_numbers_with_an_epsilon_of_0() -> None:
    made = BatchNorm(name="norm", epsilon=0.0)
    made.build(IMAGE.shape)
    made.moving_variance.assign([0.0] * 4)
    assert np.isfinite(array(made(IMAGE))).all()


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_group_norm_takes_each_images_own_statistics(groups: int) -> None:
    made = GroupNorm(groups, name="norm")
    found = array(made(IMAGE))
    grouped = IMAGE.reshape(2, -1, groups, 4 // groups)
    mean, variance = (getattr(grouped, kind)(axis=(1, 3), keepdims=True) for kind in ("mean", "var"))
    assert np.allclose(found, ((grouped - mean) / np.sqrt(variance + 1e-5)).reshape(IMAGE.shape), atol=1e-4)


def test_precision_holds_for_the_layers_made_inside() -> None:
    with precision("mixed_bfloat16"):
        made = [Conv(4, 3, name="conv"), BatchNorm(name="norm"), GroupNorm(2, name="groups")]
    x = IMAGE
    for layer in made:
        x = layer(x, training=True) if isinstance(layer, BatchNorm) else layer(x)
        assert keras.backend.standardize_dtype(x.dtype) == "bfloat16", layer.name
        assert {variable.dtype for variable in layer.variables} == {"float32"}
    assert keras.config.dtype_policy().name == "float32"


class Block(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__(name="block")
        self.conv, self.norm = Conv(4, 3, name="block.conv"), BatchNorm(name="block.norm")

    def call(self, x: Any, training: bool | None = None) -> Any:
        return self.norm(self.conv(x), training=training)


def test_what_is_computed_again_gives_the_same_and_learns_its_statistics_once() -> None:
    block = Block()
    block(IMAGE)
    start = array(block.norm.moving_mean).copy()
    plain = array(block(IMAGE, training=True))
    learned = array(block.norm.moving_mean).copy()
    block.norm.moving_mean.assign(start)
    assert np.allclose(array(rematerialize(block, keras.ops.convert_to_tensor(IMAGE))), plain, atol=1e-5)
    assert np.allclose(array(block.norm.moving_mean), learned, atol=1e-6)


def test_layers_with_variables_are_listed_by_name() -> None:
    block = Block()
    block(IMAGE)
    assert [layer.name for layer in list_leaf_layers(block)] == ["block.conv", "block.norm"]


def test_a_norm_compiles() -> None:
    made = norm()
    assert np.allclose(array(compiled(lambda x: made(x, training=False))(IMAGE)), array(made(IMAGE)), atol=1e-5)
