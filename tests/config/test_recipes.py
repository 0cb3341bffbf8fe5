"""Every variant has a recipe. None of it needs a framework."""

from __future__ import annotations

import subprocess
import sys

import pytest

from unstall.base.errors import InvalidInputError
from unstall.config.detectors import FAMILIES, get_recipe, list_family_variants


def test_every_variant_has_one_and_nothing_else_has() -> None:
    for family in FAMILIES.names():
        assert set(FAMILIES.module(family).RECIPES) == set(list_family_variants(family))


def test_what_is_no_detector_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInputError, match=r"no detector 'yolo'.*retinanet_tiny"):
        get_recipe("yolo")


def test_recipes_are_read_without_a_framework() -> None:
    program = (
        "import sys; from unstall.config.detectors import get_recipe; get_recipe('ssd_tiny'); "
        "print(sorted({'keras', 'numpy', 'tensorflow', 'jax', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
