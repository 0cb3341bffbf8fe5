"""What is said of the parts (`…_spec.py`) holds on every backend."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.conformance import ROOT, SPECIFIED
from tests.detectors.specs import assert_holds

HERE = Path(__file__).parent
PARTS = ROOT / "src" / "unstall" / "detectors" / "parts"


def test_every_part_has_its_specification() -> None:
    parts = {path.stem for path in PARTS.glob("*.py")} - {"__init__"}
    specified = {path.stem.removesuffix("_spec") for path in HERE.glob("*_spec.py")}
    tested = {path.stem.removeprefix("test_") for path in HERE.glob("test_*.py")}
    lacking = sorted(parts - specified - tested)
    assert not lacking, f"Add tests/detectors/parts/<part>_spec.py (or test_<part>.py, where NumPy is enough) for {lacking}."


@SPECIFIED
def test_the_parts_are_as_specified(backend: str) -> None:
    assert_holds(backend, *sorted(HERE.glob("*_spec.py")))
