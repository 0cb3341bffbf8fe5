"""What is installed, and the command for what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.planning.preflight.contexts import context
from unstall import backends
from unstall.planning.preflight.check import CheckError, CheckOk
from unstall.planning.preflight.checks.packages import look


def only(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    monkeypatch.setattr(backends, "is_installed", lambda package: package in packages)
    monkeypatch.delenv("KERAS_BACKEND", raising=False)


def test_what_is_installed_fits_with_its_version(tmp_path: Path) -> None:
    found = look(context(tmp_path))
    assert isinstance(found, CheckOk) and "keras 3." in found.reason and "numpy" in found.reason


def test_no_backend_refuses_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "keras", "numpy")
    found = look(context(tmp_path))
    assert isinstance(found, CheckError) and found.fix == "pip install 'unstall[tensorflow]'"


def test_a_backend_that_was_asked_for_and_is_not_there_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "keras", "numpy", "jax")
    found = look(context(tmp_path, backend="torch"))
    assert isinstance(found, CheckError) and found.fix == "pip install 'unstall[torch]'"


def test_what_reads_data_is_looked_for_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "keras", "jax", "numpy")
    found = look(context(tmp_path))
    assert isinstance(found, CheckError) and "cv2" in found.reason and found.fix == "pip install 'unstall[data]'"


def test_a_backend_that_nobody_knows_is_refused_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "foo")
    found = look(context(tmp_path))
    assert isinstance(found, CheckError) and "expected one of tensorflow, jax, torch. Received: 'foo'" in found.reason
    assert "pip install" not in found.fix
