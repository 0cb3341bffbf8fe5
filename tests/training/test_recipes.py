"""Every variant has a recipe, and its rate rises, falls and ends as it says. None of it needs a framework."""

from __future__ import annotations

import subprocess
import sys

import pytest

from unstall.detectors import variants
from unstall.errors import WrongInput
from unstall.training.recipes import RECIPES, Recipe, recipe_of

STEPS = 1000


def test_every_variant_has_one_and_nothing_else_has() -> None:
    assert set(RECIPES) == set(variants())


def test_what_has_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(WrongInput, match=r"no recipe for 'yolo'.*retinanet_tiny"):
        recipe_of("yolo")


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_the_rate_rises_to_its_height_and_never_above(name: str) -> None:
    recipe = recipe_of(name)
    steps = 10 * recipe.warm_up_steps
    rates = [recipe.rate_at(step, steps) for step in range(steps)]
    assert rates[0] == 0 and max(rates) == pytest.approx(recipe.rate)
    assert rates[: recipe.warm_up_steps] == sorted(rates[: recipe.warm_up_steps])
    assert rates[recipe.warm_up_steps :] == sorted(rates[recipe.warm_up_steps :], reverse=True)


def test_a_cosine_ends_at_nothing_and_is_half_way_half_way() -> None:
    recipe = Recipe(rate=1.0, warm_up_steps=100, schedule="cosine")
    assert recipe.rate_at(550, STEPS) == pytest.approx(0.5)
    assert recipe.rate_at(STEPS, STEPS) == pytest.approx(0.0, abs=1e-12)


def test_drops_come_at_their_shares_of_the_training() -> None:
    recipe = Recipe(rate=1.0, warm_up_steps=0, schedule="drops", drops_at=(0.5, 0.75))
    assert [recipe.rate_at(step, STEPS) for step in (499, 500, 749, 750)] == pytest.approx([1.0, 0.1, 0.1, 0.01])


def test_a_training_shorter_than_its_warm_up_still_has_a_rate() -> None:
    assert Recipe(rate=1.0, warm_up_steps=1000).rate_at(5, 10) == pytest.approx(0.5)


def test_recipes_are_read_without_a_framework() -> None:
    program = (
        "import sys, unstall.training.recipes; print(sorted({'keras', 'numpy', 'tensorflow', 'jax', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
