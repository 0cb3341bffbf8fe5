"""NVIDIA cards through NVML: memory, how busy, and who holds what. Silent where there is no card."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from unstall.journal.events import DeviceSampled, Event, SampleFailed


class DeviceSampler:
    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        self.failure: SampleFailed | None = None
        if Path("/dev/nvidiactl").exists() or Path("/proc/driver/nvidia").exists():
            self._open()

    def _open(self) -> None:
        try:
            import pynvml
        except ImportError:
            self.failure = SampleFailed(at=time.time(), signal="device", missing="nvidia-ml-py", fix="pip install nvidia-ml-py")
            return
        try:
            pynvml.nvmlInit()
            self._nvml = pynvml
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        except pynvml.NVMLError as error:
            self.failure = SampleFailed(
                at=time.time(), signal="device", missing=f"NVML: {error}", fix="check that nvidia-smi works"
            )

    def drivers(self) -> dict[str, str]:
        """Versions: of the driver, and of the newest CUDA that it can do."""
        if not self._handles:
            return {}
        try:
            driver, number = self._nvml.nvmlSystemGetDriverVersion(), int(self._nvml.nvmlSystemGetCudaDriverVersion_v2())
        except self._nvml.NVMLError:
            return {}
        name = driver if isinstance(driver, str) else driver.decode()
        return {"nvidia_driver": name, "cuda_of_driver": f"{number // 1000}.{number % 1000 // 10}"}

    def sample(self, ours: set[int]) -> list[Event]:
        events: list[Event] = []
        for index, handle in enumerate(self._handles):
            try:
                events.append(self._one(index, handle, ours))
            except self._nvml.NVMLError as error:
                events.append(SampleFailed(at=time.time(), signal="device", missing=f"NVML: {error}", fix=""))
        return events

    def _one(self, index: int, handle: Any, ours: set[int]) -> DeviceSampled:
        nvml = self._nvml
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        name = nvml.nvmlDeviceGetName(handle)
        try:
            busy: float | None = float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        except nvml.NVMLError:
            busy = None
        try:
            holders = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        except nvml.NVMLError:
            holders = []
        processes = [
            {"pid": holder.pid, "name": _name(holder.pid), "bytes": holder.usedGpuMemory, "ours": holder.pid in ours}
            for holder in holders
        ]
        return DeviceSampled(
            at=time.time(),
            index=index,
            name=name if isinstance(name, str) else name.decode(),
            used_bytes=int(memory.used),
            total_bytes=int(memory.total),
            busy_percent=busy,
            processes=processes,
        )


def _name(pid: int) -> str:
    try:
        parts = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b" ".join(parts[:3]).decode("utf-8", "replace").strip()[:120]
    except OSError:
        return ""
