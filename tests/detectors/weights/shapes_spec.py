"""The file of shapes is what the detectors have, the large ones too."""

from __future__ import annotations

from unstall.detectors import variants
from unstall.detectors.weights import shapes


def test_the_file_of_shapes_is_fresh() -> None:
    written = shapes.as_text({variant: shapes.of_variant(variant) for variant in variants()})
    assert shapes.FILE.read_text(encoding="utf-8") == written, "Write it again: python -m unstall.detectors.weights.shapes"
