"""How much of a card each backend can have: what its allocator takes, and whether the installed build knows cards at all.

Nothing is imported: what is installed is read from its description.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping

from unstall.backends.packages import find_version
from unstall.base.errors import InvalidInputError, UnstallError

JAX_SHARE = 0.92  # of the whole card, that we let JAX take; of itself it takes 0.75, and leaves the rest to nobody
JAX_SHARE_NAMES = ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION")  # the second is the older name
TENSORFLOW_LEAVES = 0.05  # of what is free when it starts
ON_DEMAND = {  # by which each takes memory as it needs it; PyTorch always does
    "jax": (("XLA_PYTHON_CLIENT_PREALLOCATE", "false"),),
    "tensorflow": (("TF_FORCE_GPU_ALLOW_GROWTH", "true"),),
}
CUDA_PLUGINS = ("jax_cuda13_plugin", "jax_cuda12_plugin")


def compute_usable_bytes(
    backend: str, memory_bytes: int, free_bytes: int, environ: Mapping[str, str] = os.environ
) -> tuple[int, str]:
    """Of a card with so much memory, of which so much is free; and why it is so much."""
    if backend == "jax":
        if environ.get("XLA_PYTHON_CLIENT_ALLOCATOR") == "platform":
            return free_bytes, "JAX allocates on demand"
        share = read_jax_fraction(environ)
        why = f"JAX may take {share:.0%} of the card; {JAX_SHARE_NAMES[0]} changes it"
        return min(free_bytes, int(memory_bytes * share)), why
    if backend == "tensorflow":
        return int(free_bytes * (1 - TENSORFLOW_LEAVES)), f"TensorFlow leaves {TENSORFLOW_LEAVES:.0%} of what is free"
    return free_bytes, "PyTorch takes what is free"


def reserve_gpu(backend: str, environ: MutableMapping[str, str] = os.environ) -> None:
    """Before the backend starts, for a training. What the user has said of it holds."""
    if backend == "jax" and not any(environ.get(name) for name in JAX_SHARE_NAMES):
        environ[JAX_SHARE_NAMES[0]] = str(JAX_SHARE)


def share_gpu(backend: str, environ: MutableMapping[str, str] = os.environ) -> None:
    """Before the backend starts, for what only looks: nothing is taken ahead, since a training may be on the same card."""
    reserve_gpu(backend, environ)  # how much there may be in the end
    for name, value in ON_DEMAND.get(backend, ()):
        if not environ.get(name):
            environ[name] = value


def read_jax_fraction(environ: Mapping[str, str] = os.environ) -> float:
    for name in JAX_SHARE_NAMES:
        if said := environ.get(name):
            try:
                share = float(said)
            except ValueError:
                share = 0.0
            if not 0 < share <= 1:
                raise InvalidInputError(f"{name}: expected a share of the card, above 0 and up to 1. Received: {said!r}")
            return share
    return JAX_SHARE


def find_visible_gpu(backend: str, environ: Mapping[str, str] = os.environ) -> int | None:
    """The number of the first card that the environment lets this backend see; None where it hides them all."""
    if backend == "jax" and environ.get("JAX_PLATFORMS", "").startswith("cpu"):
        return None
    said = environ.get("CUDA_VISIBLE_DEVICES")
    if said is None:
        return 0
    first = said.partition(",")[0].strip()
    return None if first in {"", "-1"} else int(first) if first.isdecimal() else 0  # one may also be called by its UUID


def can_list_gpus(backend: str) -> bool:
    """Whether the installed build computes on an NVIDIA card. The packages for CPUs are told by their names."""
    if backend == "jax":
        return any(importlib.util.find_spec(name) is not None for name in CUDA_PLUGINS)
    if backend == "torch":
        return not find_version("torch").endswith("+cpu")
    return not find_version("tensorflow-cpu")


# Whether an error says that memory is used up: each backend, and each library below it, has its own way to say so.


TYPES = ("OutOfMemoryError", "ResourceExhaustedError")  # of PyTorch, of TensorFlow
WORDS = (
    "resource_exhausted", "out of memory", "oom when allocating", "can't allocate memory", "cannot allocate memory",
    "unable to allocate", "failed to allocate", "insufficient memory", "bad_alloc", "alloc_failed",
    "can't start new thread",  # there was no room for its stack, or too many were there: fewer and smaller help with both
)  # fmt: skip
LONGEST_CHAIN = 8


def list_error_types() -> tuple[type[BaseException], ...]:
    """What an error may be that says so; of libraries, those that are loaded."""
    tensorflow, opencv = (sys.modules.get(name) for name in ("tensorflow", "cv2"))
    found = (tensorflow and tensorflow.errors.OpError, opencv and opencv.error)
    return (MemoryError, RuntimeError, OSError, *(kind for kind in found if kind))


def is_out_of_memory(error: BaseException) -> bool:
    """The error itself, or one that it was raised from."""
    return any(_says_so(each) for each in _chain(error))


def _says_so(error: BaseException) -> bool:
    if isinstance(error, UnstallError):
        return False  # of ours: about something else, whatever it quotes
    if isinstance(error, MemoryError) or type(error).__name__ in TYPES:
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    text = str(error).lower()
    return any(words in text for words in WORDS)


def _chain(error: BaseException) -> Iterator[BaseException]:
    following: BaseException | None = error
    for _ in range(LONGEST_CHAIN):
        if following is None:
            return
        yield following
        following = following.__cause__ or following.__context__
