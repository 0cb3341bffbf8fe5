"""Paths that lead somewhere, and those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.planning.preflight.contexts import context
from unstall.planning.preflight.check import CheckError, CheckOk
from unstall.planning.preflight.checks.paths import look


def test_no_path_and_paths_that_are_there_fit(tmp_path: Path) -> None:
    assert isinstance(look(context(tmp_path)), CheckOk)
    assert isinstance(look(context(tmp_path, data=str(tmp_path), cache_dir=str(tmp_path / "new"))), CheckOk)


def test_a_path_that_is_not_there_refuses_with_the_last_part_that_is(tmp_path: Path) -> None:
    found = look(context(tmp_path, data=str(tmp_path / "mnt" / "coco")))
    assert isinstance(found, CheckError) and f"'{tmp_path}' is" in found.reason


def test_a_variable_that_is_not_set_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEA", raising=False)
    found = look(context(tmp_path, data="${SEA}/coco", weights="$SEA/w"))
    assert isinstance(found, CheckError)
    assert "data: '${SEA}/coco' has the variable SEA" in found.reason and "weights: " in found.reason
    assert "export SEA=" in found.fix
