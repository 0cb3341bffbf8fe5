"""The same bits each time: what each backend must be told, and when. On a CPU all three give them anyway."""

from __future__ import annotations

import os

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
