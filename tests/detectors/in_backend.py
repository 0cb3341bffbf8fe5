"""Runs the checks of modules that need a framework, each backend in a process of its own.

    python -m tests.detectors.in_backend tests.detectors.parts.check_sampling …

A check is a function whose name begins with `check_`. All of them run, and what failed is told.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_checks(backend: str, *modules: str) -> None:
    """In a new process on that backend; fails with what it printed."""
    environment = {
        **os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.detectors.in_backend", *modules]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


def main(modules: list[str]) -> int:
    failed = ran = 0
    for name in modules:
        module = importlib.import_module(name)
        for check in [value for key, value in vars(module).items() if key.startswith("check_")]:
            ran += 1
            try:
                check()
            except Exception:  # whatever it is, the others run too, and it is told
                failed += 1
                print(f"{name}.{check.__name__}\n{traceback.format_exc()}", flush=True)
    print(f"{ran} checks, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
