"""The file of shapes is what the detectors have: the tiny ones, which are soon built. Of the large ones git shows what changed when
the file is written again: python -m unstall.detectors.weights.compatibility"""

from __future__ import annotations

import pytest

from unstall.config.detectors import list_variants
from unstall.detectors.weights import compatibility


@pytest.mark.parametrize("variant", [name for name in list_variants() if name.endswith("_tiny")])
def test_the_file_of_shapes_is_fresh(variant: str) -> None:
    known, said = compatibility.list_known_variants()[variant], compatibility.describe_variant(variant)
    found = {key: list(shape) for key, shape in known.shapes.items()}
    assert (known.classes, found) == (said["classes"], said["tensors"]), (
        "Write it: python -m unstall.detectors.weights.compatibility"
    )
