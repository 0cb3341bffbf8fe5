from __future__ import annotations

from pathlib import Path

import pytest

from unstall.base.files import get_cache_dir, get_state_dir


def test_they_are_those_of_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "")  # empty is as not set
    assert get_cache_dir() == Path("/home/somebody/.cache/unstall")
    assert get_state_dir() == Path("/home/somebody/.local/state/unstall")


def test_the_variables_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/fast/cache")
    monkeypatch.setenv("XDG_STATE_HOME", "/large/state")
    assert (get_cache_dir(), get_state_dir()) == (Path("/fast/cache/unstall"), Path("/large/state/unstall"))
