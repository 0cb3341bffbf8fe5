"""Memory against its limits over the run, on the host and on each device; and how busy both were."""

from __future__ import annotations

from typing import Any

from unstall.journal.events import DeviceSampled, Event, HostSampled
from unstall.report.timeline.bins import NamedSeries, Series
from unstall.report.timeline.plots import Plot, line_plot

MAX_POINTS = 1000
MAX_DEVICES = 8
MAX_DEVICE_POINTS = 400


class Memory:
    def __init__(self) -> None:
        self._host = NamedSeries(MAX_POINTS, 3)
        self._host_limit = 0
        self._cores = Series(MAX_POINTS)
        self._devices = NamedSeries(MAX_DEVICE_POINTS, 2 * MAX_DEVICES)
        self._device_limits: dict[str, int] = {}
        self._busy = NamedSeries(MAX_DEVICE_POINTS, MAX_DEVICES)
        self._host_peak: int | None = None
        self._device_peaks: dict[int, int] = {}

    def take(self, event: Event, moment: float) -> None:
        if isinstance(event, HostSampled):
            self._take_host(event, moment)
        elif isinstance(event, DeviceSampled):
            self._take_device(event, moment)

    def _take_host(self, host: HostSampled, moment: float) -> None:
        self._host_peak = max(self._host_peak or 0, host.rss_bytes)
        self._host.add("the program", moment, host.rss_bytes)
        if host.cgroup_limit_bytes:
            self._host.add("its control group", moment, host.cgroup_used_bytes)
        elif host.total_bytes and host.available_bytes:
            self._host.add("the machine", moment, host.total_bytes - host.available_bytes)
        self._host_limit = min(host.total_bytes, host.cgroup_limit_bytes or host.total_bytes) or self._host_limit
        if host.interval_s > 0:
            self._cores.add(moment, host.cpu_cores)

    def _take_device(self, device: DeviceSampled, moment: float) -> None:
        name = f"{device.name} {device.index}".strip()
        self._device_peaks[device.index] = max(self._device_peaks.get(device.index, 0), device.used_bytes)
        ours = [process.get("bytes") or 0 for process in device.processes if process.get("ours")]
        self._devices.add(f"{name}, in use", moment, device.used_bytes)
        if ours:
            self._devices.add(f"{name}, the program", moment, sum(ours))
        if name in self._device_limits or len(self._device_limits) < MAX_DEVICES:
            self._device_limits[name] = device.total_bytes
        self._busy.add(name, moment, device.busy_percent)

    def peaks(self, told: dict[str, Any]) -> dict[str, Any]:
        """What is told of memory, with the peaks of all samples, where a journal in memory keeps some."""
        peaks = [peak for _, peak in sorted(self._device_peaks.items())]
        if len(peaks) != len(told["devices"]):
            return {**told, "host_peak_bytes": self._host_peak}
        devices = [{**device, "peak_bytes": peak} for device, peak in zip(told["devices"], peaks, strict=True)]
        return {**told, "host_peak_bytes": self._host_peak, "devices": devices}

    def plots(self, seconds: float) -> list[Plot | None]:
        limits = {"limit": float(self._host_limit)} if self._host_limit else {}
        cores = {"cores": self._cores}
        return [
            line_plot("host_memory", "Host memory", "B", self._host.series, seconds, limits=limits, from_zero=True),
            line_plot("device_memory", "Device memory", "B", self._devices.series, seconds, limits=self._sizes(), from_zero=True),
            line_plot("cores", "CPU cores at work", "", cores, seconds, from_zero=True),
            line_plot("device_busy", "Devices at work", "%", self._busy.series, seconds, from_zero=True),
        ]

    def _sizes(self) -> dict[str, float]:
        """One line for all cards of one size."""
        by_size: dict[int, str] = {}
        for name, size in self._device_limits.items():
            by_size.setdefault(size, name)
        return {"limit" if len(by_size) == 1 else f"limit of {name}": float(size) for size, name in by_size.items() if size}
