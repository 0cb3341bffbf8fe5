"""Runs a specification, a file of tests that needs a framework, in a process of its own, on one backend.

By hand: KERAS_BACKEND=jax python -m pytest tests/detectors/retinanet_spec.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.detectors.conformance import MOST_S, QUICK_TO_COMPILE, ROOT


def assert_holds(backend: str, *specs: Path) -> None:
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": backend, "XLA_FLAGS": QUICK_TO_COMPILE}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, specs)]
    environment = {**os.environ, **quiet, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MOST_S, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
