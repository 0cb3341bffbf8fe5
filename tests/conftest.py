"""Shared by all tests: no run of a test lands among the user's own runs."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "unstall-home"
    monkeypatch.setenv("UNSTALL_HOME", str(home))
    monkeypatch.delenv("UNSTALL_RUN", raising=False)
    return home
