"""Starts Keras and its backend without their remarks on the machine, which no setting of theirs stops."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unstall import backends

# What TensorFlow's libraries print before they listen to any setting: of instructions, of drivers, of their own log.
_REMARKS = re.compile(rb"^(WARNING: All log messages before absl|I0000 |I \d|To enable the following instructions)")

# What Keras and its backend import only because it is installed, and nothing of ours uses through them: up to 2 s of CPU time.
# So is JAX where another backend runs.
_UNUSED = ("matplotlib", "pandas")


def start(name: str | None = None, takes_card: bool = False) -> str:
    """As `backends.choose`, and Keras is imported. What else is printed meanwhile, errors above all, is printed still."""
    chosen = backends.choose(name, takes_card)
    if backends.find_running_backend() is not None or sys.stderr is None:
        return chosen
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            with _unused_packages_hidden(chosen):
                import keras  # noqa: F401
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            held.seek(0)
            for line in held:
                if not _REMARKS.match(line):
                    os.write(2, line)
    return chosen


@contextmanager
def _unused_packages_hidden(backend: str) -> Iterator[None]:
    """Meanwhile their import fails as if they were not installed; afterwards they can be imported as ever."""
    hidden = [name for name in (*_UNUSED, *(["jax"] if backend != "jax" else [])) if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: what the import system takes for "there is none"
    try:
        yield
    finally:
        for name in hidden:
            if sys.modules.get(name) is None:
                sys.modules.pop(name, None)


# Programs that were compiled once, kept: a worker that starts again after a fault is back at its steps in seconds.


MIN_COMPILE_S = 1.0  # what is compiled faster is compiled again


def keep_compiled(folder: Path, backend: str) -> None:
    """In that folder, before anything is compiled. Only JAX can; where its user has said otherwise, as they said."""
    if backend != "jax" or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    import jax

    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", MIN_COMPILE_S)


# The same bits each time: what each backend must be told, and when. On a CPU all three give them anyway.


XLA_FLAG = "--xla_gpu_deterministic_ops=true"  # no kernel that adds up in any order, and none chosen by the clock
CUBLAS_ROOM = ":4096:8"  # of its own for each stream: shared, the order of sums hangs on who comes first


def make_deterministic(backend: str) -> None:
    """Before the backend is first imported. What has no such kernel runs as it is: then the bits may differ, and nothing else.

    TensorFlow's own switch is not used: with it Keras does not compile, and operations without such a kernel end the run.
    """
    if backend in ("jax", "tensorflow"):
        flags = os.environ.get("XLA_FLAGS", "").split()
        os.environ["XLA_FLAGS"] = " ".join([*flags, *([] if XLA_FLAG in flags else [XLA_FLAG])])
    else:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", CUBLAS_ROOM)  # read when CUDA is first used
        import torch

        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.backends.cudnn.benchmark = False
