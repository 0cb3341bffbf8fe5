"""How a step is compiled; and programs that were compiled once, kept: a worker that starts again after a fault is back at its
steps in seconds."""

from __future__ import annotations

import os
from pathlib import Path

from unstall.backends.devices import is_on_processor

LAUNCHED_TOGETHER = "xla_gpu_enable_command_buffer"
# What JAX 0.11 launches together by itself, and convolutions, at each of which it would stop: hundreds in a step.
TOGETHER = "CONDITIONAL,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,DYNAMIC_SLICE_FUSION,FUSION,CONVOLUTION"
KNOWN_SINCE = (0, 11)  # the version of JAX that this was tried with; an earlier one may not know all of these
LEAST_COMPILE_S = 1.0  # what is compiled faster is compiled again


def options_of_step() -> dict[str, str]:
    """For JAX's compiler. What its user has said of that themselves stays."""
    import jax

    knows = tuple(int(part) for part in jax.__version__.split(".")[:2]) >= KNOWN_SINCE
    if not knows or is_on_processor() or LAUNCHED_TOGETHER in os.environ.get("XLA_FLAGS", ""):
        return {}
    return {LAUNCHED_TOGETHER: TOGETHER}


def keep_compiled(folder: Path, backend: str) -> None:
    """In that folder, before anything is compiled. Only JAX can; where its user has said otherwise, as they said."""
    if backend != "jax" or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    import jax

    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", LEAST_COMPILE_S)
