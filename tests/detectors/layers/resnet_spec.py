"""ResNet: shapes, names and sizes as published."""

from __future__ import annotations

import keras
import numpy as np

from tests.detectors.layers.random_boxes import array
from unstall.detectors.layers.conv_norm import list_leaf_layers
from unstall.detectors.layers.resnet import Norms, ResNet

PARAMETERS_OF_RESNET50 = 23_508_032  # of torchvision's, without its last layer
IMAGE = np.random.default_rng(0).normal(size=(1, 64, 96, 3)).astype(np.float32)


def small(**more: object) -> ResNet:
    made = ResNet((1, 2, 1, 1), 4, **more)
    made(keras.KerasTensor(IMAGE.shape))
    return made


def learned(model: ResNet) -> set[str]:
    """The layers that learn."""
    return {layer.name for layer in list_leaf_layers(model) if layer.trainable_variables}


def test_its_stages_halve_the_image_from_a_quarter_on() -> None:
    shapes = [each.shape for each in small()(keras.KerasTensor(IMAGE.shape))]
    assert [tuple(shape) for shape in shapes] == [(1, 16, 24, 16), (1, 8, 12, 32), (1, 4, 6, 64), (1, 2, 3, 128)]


def test_resnet50_has_as_many_parameters_as_published() -> None:
    model = ResNet(norms=Norms(frozen=False))
    with keras.StatelessScope(initialize_variables=False):  # nobody needs their values
        model(keras.KerasTensor((1, 64, 64, 3)))
    assert sum(int(np.prod(variable.shape)) for variable in model.trainable_variables) == PARAMETERS_OF_RESNET50


def test_layers_are_named_by_the_published_keys() -> None:
    names = {layer.name for layer in list_leaf_layers(small())}
    assert {"backbone.body.conv1", "backbone.body.bn1", "backbone.body.layer1.0.downsample.1"} <= names
    assert {"backbone.body.layer2.1.conv3", "backbone.body.layer2.1.bn3"} <= names
    assert "backbone.body.layer2.1.downsample.0" not in names


def test_the_last_stages_learn() -> None:
    model = small(norms=Norms(frozen=False))
    for stages in (5, 4, 3, 2, 1, 0):  # what is frozen stays so
        model.freeze(stages)
        kinds = {name.split(".")[2] for name in learned(model)}
        expected = ["conv1", "layer1", "layer2", "layer3", "layer4"][5 - stages :]
        assert kinds - {"bn1"} == set(expected)
        assert ("bn1" in kinds) == (stages == 5)


def test_frozen_norms_never_learn() -> None:
    model = small(norms=Norms(frozen=True))
    model.freeze(5)
    assert not any(".bn" in name or "downsample.1" in name for name in learned(model))
    before = array(model.stem.bn1.moving_mean).copy()
    model.stem.bn1(np.ones((1, 8, 8, 4), np.float32), training=True)
    assert np.array_equal(array(model.stem.bn1.moving_mean), before)
