"""The pyramid: each level is its own map and all coarser ones."""

from __future__ import annotations

import numpy as np
import pytest

from tests.detectors.layers.random_boxes import array
from unstall.detectors.layers.conv_norm import list_leaf_layers
from unstall.detectors.layers.fpn import FeaturePyramidNetwork, upsample
from unstall.detectors.layers.resnet import Norms

random = np.random.default_rng(0)


@pytest.mark.parametrize(("height", "width"), [(4, 6), (5, 7), (3, 3), (2, 3)])
def test_it_is_enlarged_to_exactly_that_size_by_the_nearest_pixel(height: int, width: int) -> None:
    x = random.normal(size=(1, 2, 3, 2)).astype(np.float32)
    rows, columns = np.arange(height) * 2 // height, np.arange(width) * 3 // width
    assert np.array_equal(array(upsample(x, height, width)), x[:, rows][:, :, columns])


def test_what_is_coarse_reaches_the_fine_levels_and_not_the_other_way() -> None:
    pyramid = FeaturePyramidNetwork(levels=3, channels=4)
    maps = [random.normal(size=(1, side, side, 3)).astype(np.float32) for side in (9, 5, 3)]
    before = [array(level) for level in pyramid(maps)]
    assert [level.shape for level in before] == [(1, 9, 9, 4), (1, 5, 5, 4), (1, 3, 3, 4)]
    maps[1] = maps[1] + 1
    after = [array(level) for level in pyramid(maps)]
    assert [not np.allclose(a, b) for a, b in zip(before, after, strict=True)] == [True, True, False]


@pytest.mark.parametrize("norms", [None, Norms(frozen=False)])
def test_layers_are_named_by_the_published_keys(norms: Norms | None) -> None:
    pyramid = FeaturePyramidNetwork(levels=2, channels=4, norms=norms)
    pyramid([random.normal(size=(1, side, side, 3)).astype(np.float32) for side in (4, 2)], training=True)
    names = {layer.name for layer in list_leaf_layers(pyramid)}
    convs = {f"backbone.fpn.{kind}_blocks.{level}.0" for kind in ("inner", "layer") for level in (0, 1)}
    assert names == convs | ({name[:-1] + "1" for name in convs} if norms else set())
    assert any(name.endswith("bias") for name in (variable.path for variable in pyramid.variables)) == (norms is None)
