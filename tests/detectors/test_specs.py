"""Detectors, their parts and their weights are as specified, in one process for each backend, as a framework takes seconds to start."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.conformance import SPECIFIED
from tests.detectors.specs import assert_holds

HERE = Path(__file__).parent
ALONE = ("golden_spec.py",)  # large networks
AGAINST_TORCH = ("ssd_network_spec.py",)  # modules of PyTorch are what they are held against


@SPECIFIED
def test_detectors_are_as_specified(backend: str) -> None:
    left_out = ALONE if backend == "torch" else (*ALONE, *AGAINST_TORCH)
    specs = [path for folder in (HERE / "layers", HERE) for path in sorted(folder.glob("*_spec.py")) if path.name not in left_out]
    assert_holds(backend, *specs, HERE / "weights" / "store_spec.py")


@SPECIFIED
def test_published_variants_give_what_torchvision_gives(backend: str) -> None:
    assert_holds(backend, HERE / "golden_spec.py")
