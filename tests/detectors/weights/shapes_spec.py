"""The file of shapes is what the detectors have: of each family the first, which is published, and the tiny one."""

from __future__ import annotations

import pytest

from unstall.detectors import families
from unstall.detectors.weights import shapes

SOME = [name for names in families().values() for name in names if name == names[0] or name.endswith("_tiny")]


@pytest.mark.parametrize("variant", SOME)
def test_the_file_of_shapes_is_fresh(variant: str) -> None:
    known, said = shapes.known()[variant], shapes.of_variant(variant)
    found = {key: list(shape) for key, shape in known.shapes.items()}
    assert (known.classes, found) == (said["classes"], said["tensors"]), "Write it: python -m unstall.detectors.weights.shapes"
