"""Starts Keras and its backend without their remarks on the machine, which no setting of theirs stops."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from unstall import backends

# What TensorFlow's libraries print before they listen to any setting: of instructions, of drivers, of their own log.
_REMARKS = re.compile(rb"^(WARNING: All log messages before absl|I0000 |I \d|To enable the following instructions)")


def start(name: str | None = None, takes_card: bool = False) -> str:
    """As `backends.choose`, and Keras is imported. What else is printed meanwhile, errors above all, is printed still."""
    chosen = backends.choose(name, takes_card)
    if backends.running_backend() is not None or sys.stderr is None:
        return chosen
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            import keras  # noqa: F401
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            held.seek(0)
            for line in held:
                if not _REMARKS.match(line):
                    os.write(2, line)
    return chosen


# Programs that were compiled once, kept: a worker that starts again after a fault is back at its steps in seconds.


MIN_COMPILE_S = 1.0  # what is compiled faster is compiled again


def keep_compiled(folder: Path, backend: str) -> None:
    """In that folder, before anything is compiled. Only JAX can; where its user has said otherwise, as they said."""
    if backend != "jax" or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    import jax

    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", MIN_COMPILE_S)
