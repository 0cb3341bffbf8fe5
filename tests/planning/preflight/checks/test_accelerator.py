"""Cards that are free, cards that others are on, and none at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.planning.preflight.contexts import context
from unstall.backends import packages
from unstall.planning.preflight.check import CheckOk, CheckWarning
from unstall.planning.preflight.checks.accelerator import judge

GIB = 2**30


def card(used: int = 0, busy: float = 0.0, processes: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "index": 0, "name": "H200", "used_bytes": used, "total_bytes": 140 * GIB, "busy_percent": busy, "processes": list(processes),
    }  # fmt: skip


@pytest.fixture(autouse=True)
def with_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that can use cards, whatever is installed here."""
    monkeypatch.setattr(packages, "_installed", lambda: {"jax-cuda13-plugin"})


def test_without_a_card_a_tiny_detector_fits_and_a_large_one_warns(tmp_path: Path) -> None:
    assert isinstance(judge([], context(tmp_path)), CheckOk)
    found = judge([], context(tmp_path, model="retinanet_resnet50_fpn"))
    assert isinstance(found, CheckWarning) and "million weights" in found.reason


def test_a_free_card_fits(tmp_path: Path) -> None:
    found = judge([card()], context(tmp_path, backend="jax"))
    assert isinstance(found, CheckOk) and "140 GiB of 140 GiB free" in found.reason


def test_who_holds_the_card_is_named(tmp_path: Path) -> None:
    holder = {"pid": 77, "name": "python train.py", "bytes": 60 * GIB, "ours": False}
    found = judge([card(60 * GIB, processes=(holder,))], context(tmp_path, backend="jax"))
    assert isinstance(found, CheckWarning) and "process 77 python train.py holds 60 GiB" in found.reason
    hidden = judge([card(60 * GIB)], context(tmp_path, backend="jax"))
    assert "cannot be seen from here" in hidden.reason


def test_a_busy_card_warns(tmp_path: Path) -> None:
    assert isinstance(judge([card(busy=97.0)], context(tmp_path, backend="jax")), CheckWarning)


def test_a_backend_without_cuda_warns_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_installed", lambda: {"jax", "jaxlib", "tensorflow-cpu"})
    for backend, fix in (("jax", "pip install 'jax[cuda13]'"), ("tensorflow", "pip install 'tensorflow[and-cuda]'")):
        found = judge([card()], context(tmp_path, backend=backend))
        assert isinstance(found, CheckWarning) and found.fix == fix
