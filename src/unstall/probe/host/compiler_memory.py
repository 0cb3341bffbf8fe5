"""How much the process grows while JAX compiles: it tells of its own accord when it begins to, and when it has done.

On a CPU what a compiler has freed stays with the process, by chance more or less of it; and a run's peak is that much higher.
"""

from __future__ import annotations

import resource
import threading
import time
from types import ModuleType
from typing import Any

from unstall.journal.events import CompilationsCounted
from unstall.probe.core.probe import Probe

BEGINS = "/jax/core/compile/jaxpr_to_mlir_module_duration"  # right before the compiler itself
ENDED = "/jax/core/compile/backend_compile_duration"
LONG = 0.5  # of the longest compilation of the fit so far: the step itself, not one of the small functions around it
PAGE_BYTES = resource.getpagesize()


class CompilerMemory:
    """Up to the compilation of the first step. Later ones go on beside steps that run, and hold memory of their own."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._before: dict[int, int] = {}  # by the thread that compiles
        self._compilations = 0
        self._grown = 0
        self._longest_s = 0.0

    def begins(self) -> None:
        if self._probe.train.done == 0:
            self._before[threading.get_ident()] = resident_bytes()

    def ended(self, seconds: float) -> None:
        before = self._before.pop(threading.get_ident(), None)
        if before is None:
            return
        self._compilations += 1
        self._grown += resident_bytes() - before
        if self._probe.phase in ("fit", "first_step") and seconds >= LONG * self._longest_s:
            self._longest_s = max(self._longest_s, seconds)
            grown = max(0, self._grown)
            self._probe.emit(
                CompilationsCounted(at=time.time(), framework="jax", compilations=self._compilations, grown_bytes=grown)
            )


def resident_bytes() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * PAGE_BYTES


def install_jax(module: ModuleType, probe: Probe) -> None:
    """jax.monitoring"""
    memory = CompilerMemory(probe)

    def listen(event: str, duration: float, **details: Any) -> None:
        if probe.active and event == BEGINS:
            probe.shield.call("compiler memory", memory.begins)
        elif probe.active and event == ENDED:
            probe.shield.call("compiler memory", memory.ended, duration)

    module.register_event_duration_secs_listener(listen)
