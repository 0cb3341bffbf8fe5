"""On what the framework computes, when a fit begins; and its own count of device memory, now and then and after an error.

Only frameworks that the program has imported are asked, and only what they know without starting a device.
"""

from __future__ import annotations

import linecache
import os
import re
import resource
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import CompilationsCounted, DeviceMemoryCounted, DevicesListed
from unstall.probe.core.probe import Probe

COUNT_EVERY_S = 30.0  # the peak since the start: none is missed between
WARM_STEPS = 2
VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "JAX_PLATFORMS", "JAX_PLATFORM_NAME")


def install(probe: Probe) -> None:
    def list_devices(model: Any) -> None:
        for event in describe_devices(model):
            probe.emit(event)

    due = 0.0

    def count_memory(model: Any, done: int) -> None:
        nonlocal due
        now = time.monotonic()
        if done >= WARM_STEPS and now >= due:
            due = now + COUNT_EVERY_S
            probe.shield.within_budget("device memory", report_memory, probe)

    def count_last() -> None:
        probe.shield.within_budget("device memory", report_memory, probe)

    probe.on_fit.append(list_devices)
    probe.on_step.append(count_memory)
    probe.on_fit_end.append(count_last)


def describe_devices(model: Any) -> list[DevicesListed]:
    """One for each framework that could hold the model's weights."""
    backend = _backend()
    makers: dict[str, Callable[[], tuple[list[str], Optional[bool]]]] = {
        "tensorflow": _tensorflow_devices,
        "jax": _jax_devices,
        "torch": _torch_devices,
    }
    if backend not in makers or backend not in sys.modules:
        return []
    devices, built = makers[backend]()
    variables = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    places = {name: _set_at(name) for name in variables}
    return [
        DevicesListed(
            at=time.time(),
            framework=backend,
            devices=devices,
            built_with_gpu=built,
            weights_on=_weights_on(model, backend),
            variables=variables,
            set_at={name: place for name, place in places.items() if place is not None},
        )
    ]


def _backend() -> str:
    keras = sys.modules.get("keras")
    try:
        return str(keras.backend.backend()) if keras is not None else "tensorflow"
    except AttributeError:
        return "tensorflow"


def _tensorflow_devices() -> tuple[list[str], Optional[bool]]:
    tf = sys.modules["tensorflow"]
    config = tf.config if hasattr(tf.config, "get_visible_devices") else tf.config.experimental  # up to TensorFlow 2.0
    return [device.device_type.lower() for device in config.get_visible_devices()], bool(tf.test.is_built_with_cuda())


def _jax_devices() -> tuple[list[str], Optional[bool]]:
    jax = sys.modules["jax"]
    built = any(name in sys.modules for name in ("jax_cuda13_plugin", "jax_cuda12_plugin", "jax_plugins.xla_cuda13"))
    return [str(device.platform) for device in jax.local_devices()], built or None


def _torch_devices() -> tuple[list[str], Optional[bool]]:
    torch = sys.modules["torch"]
    built = torch.version.cuda is not None
    count = torch.cuda.device_count() if built else 0
    return ["cpu", *("cuda" for _ in range(count))], built


def _weights_on(model: Any, backend: str) -> str:
    try:
        variables = getattr(model, "variables", None) or []
    except ValueError:  # tf_keras: a model that has not been built yet has none, and says so in this way
        return ""
    value = getattr(variables[0], "value", variables[0]) if variables else None
    value = value() if callable(value) else value
    if value is None:
        return ""
    if backend == "jax":
        return ",".join(str(device.platform) for device in value.devices())
    return str(getattr(value, "device", "")).lower()


def _set_at(name: str) -> Optional[str]:
    """The line of the main program that sets the variable, if one does."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    if not file:
        return None
    pattern = re.compile(
        rf"environ\s*\[\s*['\"]{name}['\"]\s*\]\s*=|environ\.setdefault\(\s*['\"]{name}['\"]|putenv\(\s*['\"]{name}['\"]"
    )
    for number, line in enumerate(linecache.getlines(file), 1):
        if pattern.search(line):
            return f"{os.path.abspath(file)}:{number}"
    return None


def report_memory(probe: Probe) -> None:
    """What the allocators of cards say of themselves: after an error, and now and then."""
    for event in [*_tensorflow_memory(), *_torch_memory(), *_jax_memory()]:
        probe.emit(event)


def _tensorflow_memory() -> list[DeviceMemoryCounted]:
    context = getattr(sys.modules.get("tensorflow.python.eager.context"), "context_safe", lambda: None)()
    if not getattr(context, "_initialized", False):
        return []  # no device has been started
    tf = sys.modules["tensorflow"]
    events = []
    for device in tf.config.list_logical_devices("GPU"):
        name = device.name.replace("/device:", "")
        said = tf.config.experimental.get_memory_info(name)
        events.append(
            DeviceMemoryCounted(
                at=time.time(),
                framework="tensorflow",
                device=name.lower(),
                in_use_bytes=said.get("current"),
                peak_bytes=said.get("peak"),
            )
        )
    return events


def _torch_memory() -> list[DeviceMemoryCounted]:
    torch = sys.modules.get("torch")
    if torch is None or not getattr(torch, "cuda", None) or not torch.cuda.is_initialized():
        return []
    stats = torch.cuda.memory_stats()
    free, total = torch.cuda.mem_get_info()
    return [
        DeviceMemoryCounted(
            at=time.time(),
            framework="torch",
            device=f"cuda:{torch.cuda.current_device()}",
            in_use_bytes=stats.get("allocated_bytes.all.current"),
            reserved_bytes=stats.get("reserved_bytes.all.current"),
            limit_bytes=total,
            free_bytes=free,
            peak_bytes=stats.get("allocated_bytes.all.peak"),
        )
    ]


def _jax_memory() -> list[DeviceMemoryCounted]:
    bridge = sys.modules.get("jax._src.xla_bridge")
    jax = sys.modules.get("jax")
    if jax is None or not getattr(bridge, "_backends", None):
        return []  # no device has been started
    events = []
    for device in jax.local_devices():
        stats = device.memory_stats() if device.platform != "cpu" else None
        if stats:
            events.append(
                DeviceMemoryCounted(
                    at=time.time(),
                    framework="jax",
                    device=f"{device.platform}:{device.id}",
                    in_use_bytes=stats.get("bytes_in_use"),
                    reserved_bytes=stats.get("bytes_reserved") or stats.get("pool_bytes"),
                    limit_bytes=stats.get("bytes_limit"),
                    largest_free_bytes=stats.get("largest_free_block_bytes"),
                    peak_bytes=stats.get("peak_bytes_in_use"),
                )
            )
    return events


# How much the process grows while JAX compiles: it tells of its own accord when it begins to, and when it has done.
#
# On a CPU what a compiler has freed stays with the process, by chance more or less of it; and a run's peak is that much
# higher.


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
            self._before[threading.get_ident()] = read_resident_bytes()

    def ended(self, seconds: float) -> None:
        before = self._before.pop(threading.get_ident(), None)
        if before is None:
            return
        self._compilations += 1
        self._grown += read_resident_bytes() - before
        if self._probe.phase in ("fit", "first_step") and seconds >= LONG * self._longest_s:
            self._longest_s = max(self._longest_s, seconds)
            grown = max(0, self._grown)
            self._probe.emit(
                CompilationsCounted(at=time.time(), framework="jax", compilations=self._compilations, grown_bytes=grown)
            )


def read_resident_bytes() -> int:
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
