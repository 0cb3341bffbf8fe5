"""Every variant has a recipe. None of it needs a framework."""

from __future__ import annotations

import subprocess
import sys

import pytest

from unstall.base.errors import InvalidInputError
from unstall.config.detectors import variants
from unstall.config.recipes import RECIPES, recipe_of


def test_every_variant_has_one_and_nothing_else_has() -> None:
    assert set(RECIPES) == set(variants())


def test_what_has_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInputError, match=r"no recipe for 'yolo'.*retinanet_tiny"):
        recipe_of("yolo")


def test_recipes_are_read_without_a_framework() -> None:
    program = (
        "import sys, unstall.config.recipes; print(sorted({'keras', 'numpy', 'tensorflow', 'jax', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
