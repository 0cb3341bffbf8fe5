"""Memory that is used up is known by the words of each library; nothing else is taken for it."""

from __future__ import annotations

import errno

import numpy as np
import pytest

from unstall.backends.allocators import is_out_of_memory, list_error_types
from unstall.base.errors import InvalidInputError


class OutOfMemoryError(RuntimeError):
    """As PyTorch calls its own."""


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to"),
        RuntimeError("OOM when allocating tensor with shape[16,256,160,160] and type float"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("can't start new thread"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
    ],
)
def test_each_says_so_in_its_own_words(error: Exception) -> None:
    assert is_out_of_memory(error)


def test_a_real_one_of_numpy() -> None:
    with pytest.raises(MemoryError) as raised:
        np.zeros(2**60, np.uint8)
    assert is_out_of_memory(raised.value)


def test_one_that_another_was_raised_from() -> None:
    try:
        try:
            raise MemoryError
        except MemoryError as inner:
            raise ValueError("a step failed") from inner
    except ValueError as outer:
        assert is_out_of_memory(outer)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("shapes do not match"),
        OSError(errno.ENOSPC, "No space left on device"),
        InvalidInputError("'out of memory.jpg' cannot be read"),
        KeyError("memory"),
    ],
)
def test_others_are_none(error: Exception) -> None:
    assert not is_out_of_memory(error)


def test_each_kind_is_among_those_that_are_looked_at() -> None:
    assert all(issubclass(kind, list_error_types()) for kind in (MemoryError, OutOfMemoryError, RuntimeError, OSError))
