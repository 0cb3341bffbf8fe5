"""VGG: its keys, its sizes, and what it sees. The whole network is compared with the published one in `ssd_network_spec.py`."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from tests.detectors.layers.random_boxes import array
from tests.detectors.seeded import set_weights
from unstall.config.detectors.ranges import VGG16
from unstall.detectors.layers.conv_norm import list_leaf_layers
from unstall.detectors.layers.resnet import Norms
from unstall.detectors.layers.vgg import VGG, Convs, Step

PUBLISHED = [f"backbone.features.{number}" for number in (0, 2, 5, 7, 10, 12, 14, 17, 19, 21)]
PUBLISHED += [f"backbone.extra.0.{number}" for number in ("1", "3", "5", "7.1", "7.3")]


def thin(**changes: object) -> VGG:
    vgg = VGG(**{"width": 2, **changes})
    vgg(keras.KerasTensor((1, 48, 64, 3)))
    return vgg


def test_its_layers_have_the_published_keys() -> None:
    assert sorted(each.name for each in list_leaf_layers(thin(convs=VGG16))) == sorted(PUBLISHED)


def test_with_norms_they_are_counted_too() -> None:
    names = {each.name for each in list_leaf_layers(thin(convs=(1, 1, 1, 2, 1), norms=Norms(frozen=False)))}
    row = [f"backbone.features.{number}" for number in (0, 1, 4, 5, 8, 9, 12, 13, 15, 16)]
    assert names == {*row, *(f"backbone.extra.0.{number}" for number in ("1", "2", "4.1", "4.2", "4.4", "4.5"))}


@pytest.mark.parametrize(("side", "fine", "coarse"), [(300, 38, 19), (296, 37, 18), (64, 8, 4), (67, 8, 4), (71, 9, 4)])
def test_the_third_pooling_keeps_an_odd_last_row_and_the_others_do_not(side: int, fine: int, coarse: int) -> None:
    maps = thin(convs=(1, 1, 1, 1, 1))(keras.KerasTensor((1, side, 64, 3)))
    assert [each.shape[1:] for each in maps] == [(fine, 8, 16), (coarse, 4, 32)]


def test_the_last_convolutions_look_six_pixels_of_their_map_far() -> None:
    """A change in the map before them changes the middle and the places that lie six to each side, and no other."""
    last = Convs([Step(3, 3, dilation=6), Step(3, 1)], "last", 1)
    still = np.zeros((1, 15, 15, 2), np.float32)
    last(still)
    set_weights(last)
    touched = still.copy()
    touched[0, 7, 7] = 50.0
    seen = np.abs(array(last(touched)) - array(last(still))).max(axis=(0, 3)) > 0
    rows, columns = np.nonzero(seen)
    assert {*rows.tolist(), *columns.tolist()} <= {1, 7, 13} and seen.sum() > 1


def test_the_stages_that_do_not_learn_are_the_first() -> None:
    for stages, first in ((5, 0), (4, 1), (1, 4), (0, 5)):
        vgg = thin(convs=(1, 1, 1, 1, 1))
        vgg.freeze(stages)
        assert [bool(stage.trainable_variables) for stage in vgg.stages] == [number >= first for number in range(5)]
        assert vgg.last.trainable_variables
