"""Samples, proposals and the reading of regions, on each backend."""

from __future__ import annotations

import pytest

from tests.detectors.in_backend import run_checks

BACKENDS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax", "torch")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_samples_proposals_and_roi_align(backend: str) -> None:
    run_checks(backend, *(f"tests.detectors.parts.check_{part}" for part in ("sampling", "proposals", "roi_align")))
