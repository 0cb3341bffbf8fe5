"""Keras's optimizer of a recipe does what the recipe says."""

from __future__ import annotations

import keras
import pytest

from unstall.training.keras_optimizer import Rate, optimizer_of
from unstall.training.recipes import RECIPES, Recipe

STEPS = 4000


@pytest.mark.parametrize("name", ["retinanet_resnet50_fpn", "ssd_tiny"])
def test_the_rate_in_the_step_is_that_of_the_recipe(name: str) -> None:
    rate = Rate(RECIPES[name], STEPS)
    for step in (0, 1, 99, 100, 999, 1000, 2461, 2462, 3384, 3385, STEPS - 1):
        there = float(keras.ops.convert_to_numpy(rate(step)))
        assert there == pytest.approx(RECIPES[name].rate_at(step, STEPS), rel=1e-4, abs=1e-9)


def test_a_constant_rate_stays() -> None:
    rate = Rate(Recipe(rate=0.5, warm_up_steps=0, schedule="constant"), STEPS)
    assert [float(keras.ops.convert_to_numpy(rate(step))) for step in (0, STEPS)] == [0.5, 0.5]


def test_it_is_saved_and_read_again_whole() -> None:
    rate = Rate(RECIPES["retinanet_resnet50_fpn"], STEPS)
    again = Rate.from_config(rate.get_config())
    assert (again.recipe, again.steps) == (rate.recipe, STEPS)


def test_the_optimizer_is_the_recipes() -> None:
    adam = optimizer_of(Recipe(weight_decay=0.05, clip_norm=3.0, average=0.99), STEPS)
    assert isinstance(adam, keras.optimizers.AdamW)
    assert (adam.weight_decay, adam.global_clipnorm, adam.use_ema, adam.ema_momentum) == (0.05, 3.0, True, 0.99)
    sgd = optimizer_of(Recipe("sgd", clip_norm=0.0, weight_decay=0.0), STEPS)
    assert isinstance(sgd, keras.optimizers.SGD)
    assert (sgd.momentum, sgd.global_clipnorm, sgd.weight_decay, sgd.use_ema) == (0.9, None, None, False)
