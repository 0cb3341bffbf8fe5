"""Programs that were compiled once, kept: a worker that starts again after a fault is back at its steps in seconds."""

from __future__ import annotations

import os
from pathlib import Path

LEAST_COMPILE_S = 1.0  # what is compiled faster is compiled again


def keep_compiled(folder: Path, backend: str) -> None:
    """In that folder, before anything is compiled. Only JAX can; where its user has said otherwise, as they said."""
    if backend != "jax" or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    import jax

    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", LEAST_COMPILE_S)
