"""What a backend is told so that it gives the same bits each time; and that it takes it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from unstall.backends.startup import XLA_FLAG, make_deterministic

BEGIN = "from unstall.backends.startup import make_deterministic\nmake_deterministic({name!r})\n"
PROGRAMS = {
    "jax": "import jax.numpy as jnp\nprint(float(jnp.ones(3).sum()))",
    "tensorflow": "import tensorflow as tf\nprint(float(tf.function(tf.reduce_sum, jit_compile=True)(tf.ones(3))))",
    "torch": "import torch\nassert torch.are_deterministic_algorithms_enabled()\nprint(float(torch.ones(3).sum()))",
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in PROGRAMS])
def test_the_backend_runs_so(name: str) -> None:
    """An unknown flag would end it."""
    program = [sys.executable, "-c", BEGIN.format(name=name) + PROGRAMS[name]]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=240)
    assert (done.returncode, done.stdout) == (0, "3.0\n"), done.stderr


def test_flags_that_were_there_stay_and_none_is_told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=somewhere")
    for _ in range(2):
        make_deterministic("jax")
    assert os.environ["XLA_FLAGS"] == f"--xla_dump_to=somewhere {XLA_FLAG}"
