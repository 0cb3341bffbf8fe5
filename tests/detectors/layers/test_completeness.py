"""What is said of the parts stands in a `…_spec.py` each, or in a test where NumPy is enough."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.conformance import ROOT

HERE = Path(__file__).parent
PARTS = ROOT / "src" / "unstall" / "detectors" / "layers"


def test_every_part_has_its_specification() -> None:
    parts = {path.stem for path in PARTS.glob("*.py")} - {"__init__"}
    specified = {path.stem.removesuffix("_spec") for path in HERE.glob("*_spec.py")}
    tested = {path.stem.removeprefix("test_") for path in HERE.glob("test_*.py")}
    lacking = sorted(parts - specified - tested)
    assert not lacking, f"Add tests/detectors/layers/<part>_spec.py (or test_<part>.py, where NumPy is enough) for {lacking}."
