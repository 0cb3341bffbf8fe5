"""The events about memory and devices: what the kernel counted, what the program keeps, what it computes on.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from unstall.journal.events.base import Event


@dataclass(frozen=True)
class KillsCounted(Event):
    """How often the kernel has killed for want of memory since the run was first looked at, by its own counters."""

    group: str = ""  # the control group of the program
    in_group: Optional[int] = None  # kills in that group
    on_machine: Optional[int] = None  # kills on the whole machine, the group included
    limit_bytes: Optional[int] = None
    peak_bytes: Optional[int] = None  # the most the group ever used
    final: bool = False  # counted after the program had ended


@dataclass(frozen=True)
class HoldingsCounted(Event):
    """The program's own lists, dicts and sets that have grown, seen from inside while its memory grew.

    Each holder: name (as written: `losses`, `self.history`), kind (list, dict, ...), length, grown (since it was first
    counted), bytes_each (estimate), holds (what lies in it: "Tensor with its graph", "ndarray", ...), where (the line that
    adds to it), looks (in how many looks in a row it had grown), sheds (whether any line takes things out, or makes it anew
    in a loop), bounded (whether it has a greatest length)."""

    memory_bytes: int = 0
    grown_bytes: int = 0  # since the first count
    step: int = -1
    holders: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class CompilationsCounted(Event):
    """How much larger the process has become in its compilations, up to that of the first step. What a compiler frees stays with
    the process, and how much that is differs from run to run: it compiles in several threads."""

    framework: str = ""
    compilations: int = 0
    grown_bytes: int = 0


@dataclass(frozen=True)
class DevicesListed(Event):
    """On what the framework computes, as it says itself, and what could keep it from a card."""

    framework: str = ""  # tensorflow | jax | torch
    devices: list[str] = field(default_factory=list)  # e.g. cpu, gpu
    built_with_gpu: Optional[bool] = None  # None: not known
    weights_on: str = ""  # the device of the first weight, e.g. cpu, cuda:0
    variables: dict[str, str] = field(default_factory=dict)  # CUDA_VISIBLE_DEVICES, JAX_PLATFORMS, ... as they are now
    set_at: dict[str, str] = field(default_factory=dict)  # the user's line that sets one of them


@dataclass(frozen=True)
class DeviceMemoryCounted(Event):
    """The memory of a card as the framework's own allocator counts it: now and then, and at the moment of an error."""

    framework: str = ""
    device: str = ""
    in_use_bytes: Optional[int] = None
    reserved_bytes: Optional[int] = None  # taken from the card, in use or not
    limit_bytes: Optional[int] = None  # that the allocator may take
    free_bytes: Optional[int] = None  # of the card, as the driver says
    largest_free_bytes: Optional[int] = None  # the largest free piece, where the allocator tells
    peak_bytes: Optional[int] = None  # the most that was ever in use
