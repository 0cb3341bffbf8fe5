"""libraries: the frameworks that a process has loaded are seen in its memory map."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from unstall.signals import libraries


def test_a_process_without_a_framework_has_none() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        seen = libraries.sample(process.pid)
        assert seen is not None
        assert seen.names == []
    finally:
        process.kill()
        process.wait()
    assert libraries.sample(process.pid) is None


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax", "torch")]
)
def test_a_framework_is_seen_once_it_is_loaded(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    code = f"import {name}; print('loaded', flush=True); input()"
    quiet = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=quiet)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        seen = libraries.sample(process.pid)
        assert seen is not None
        assert name in seen.names
    finally:
        process.kill()
        process.wait()
