"""Whether an error says that memory is used up: each backend, and each library below it, has its own way to say so."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator

from unstall.base.errors import UnstallError

TYPES = ("OutOfMemoryError", "ResourceExhaustedError")  # of PyTorch, of TensorFlow
WORDS = (
    "resource_exhausted", "out of memory", "oom when allocating", "can't allocate memory", "cannot allocate memory",
    "unable to allocate", "failed to allocate", "insufficient memory", "bad_alloc", "alloc_failed",
    "can't start new thread",  # there was no room for its stack, or too many were there: fewer and smaller help with both
)  # fmt: skip
LONGEST_CHAIN = 8


def kinds() -> tuple[type[BaseException], ...]:
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
