"""Runs a specification, a file of tests that needs a framework, in a process of its own, on one backend.

By hand: KERAS_BACKEND=jax python -m pytest tests/detectors/retinanet_spec.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.detectors.conformance import MAX_S, ROOT, environment


def assert_holds(backend: str, *specs: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, specs)]
    with tempfile.TemporaryDirectory() as compiled:
        # Many tests make the same step of the same detector: JAX compiles it once.
        keep = {"JAX_COMPILATION_CACHE_DIR": compiled, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2"}
        env = {**environment(backend), **keep}
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MAX_S, env=env, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
