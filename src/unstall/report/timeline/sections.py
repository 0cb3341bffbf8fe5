"""The sections of the timeline: metrics, input, memory, and gradients with updates.

Metrics are the numbers of a training over the run: its losses, the figures of its epochs, the learning rate.
"""

from __future__ import annotations

import math
from typing import Any

from unstall.journal.events import (
    DeviceSampled,
    EpochEnded,
    Event,
    HostSampled,
    InputMeasured,
    PipelineMeasured,
    StepsEnded,
    UpdatesMeasured,
    WeightsSampled,
)
from unstall.report.timeline.plots import NamedSeries, Plot, Series, create_line_plot

MAX_POINTS = 1000
MAX_FIGURES = 12
MAX_FIGURE_POINTS = 300
MAX_LOSSES = 8
RATES = frozenset({"learning_rate", "lr", "rate"})
GRADIENT_NORM = "gradient_norm"  # of all weights, as the project's own trainer tells it
NO_FIGURES = frozenset({"train_s", "eval_s", "skipped_updates"})  # that trainer's, which stand in other plots
LOSSES = {"loss": "mean of an epoch", "val_loss": "validation"}


class Numbers:
    def __init__(self) -> None:
        self._losses = NamedSeries(MAX_POINTS, MAX_LOSSES)
        self._figures = NamedSeries(MAX_FIGURE_POINTS, MAX_FIGURES)
        self._rate = Series(MAX_POINTS)
        self._norm = Series(MAX_POINTS)
        self._is_measured = False  # by the project's own trainer, more often than once an epoch

    def take(self, event: Event, moment: float) -> None:
        if isinstance(event, StepsEnded) and event.phase == "train":
            self._losses.add("of the steps", moment, event.loss)
        elif isinstance(event, WeightsSampled):
            self._rate.add(moment, event.facts.get("learning_rate"))
        elif isinstance(event, UpdatesMeasured):
            self._is_measured = True
            self._rate.add(moment, event.rate)
            self._norm.add(moment, event.norm)
        elif isinstance(event, EpochEnded):
            self._take_epoch(event, moment)
        elif type(event).__name__ == "EpochScored":
            for name, value in getattr(event, "figures", {}).items():
                self._figures.add(str(name), moment, value)

    def _take_epoch(self, epoch: EpochEnded, moment: float) -> None:
        for name, value in epoch.logs.items():
            if name in RATES | {GRADIENT_NORM}:
                if not self._is_measured:
                    (self._norm if name == GRADIENT_NORM else self._rate).add(moment, value)
            elif name in LOSSES or name.endswith("_loss"):
                self._losses.add(LOSSES.get(name, name), moment, value)
            elif name not in NO_FIGURES:
                self._figures.add(name, moment, value)

    def plots(self, seconds: float) -> list[Plot | None]:
        return [
            create_line_plot("loss", "Loss", "", self._losses.series, seconds),
            create_line_plot("figures", "Figures of each epoch", "", self._figures.series, seconds),
            create_line_plot("gradient_norm", "Gradient norm", "", {"of all weights": self._norm}, seconds),
            create_line_plot("learning_rate", "Learning rate", "", {"learning rate": self._rate}, seconds, from_zero=True),
        ]


# The input over the run: how full its queues were, and how many threads worked in each stage.


MAX_INPUT_POINTS = 300
MAX_INPUT_STAGES = 12
MIN_THREADS = 0.01  # a stage that never does more is not worth a line
OWN_STAGES = {"read": "read_s", "decode": "decode_s", "augment": "augment_s", "batch": "batch_s", "transfer": "transfer_s"}


class Input:
    def __init__(self) -> None:
        self._queues = NamedSeries(MAX_INPUT_POINTS, MAX_INPUT_STAGES)
        self._work = NamedSeries(MAX_INPUT_POINTS, MAX_INPUT_STAGES)
        self._before: dict[str, float] = {}  # seconds of work up to the last look, by stage
        self._before_s = 0.0
        self._iterator: object = None

    def take(self, event: Event, moment: float) -> None:
        if isinstance(event, PipelineMeasured) and event.role == "train":
            self._take_pipeline(event, moment)
        elif isinstance(event, InputMeasured):
            self._take_own(event, moment)

    def _take_pipeline(self, measured: PipelineMeasured, moment: float) -> None:
        nodes = _named(measured.nodes)
        for name, node in nodes.items():
            if node.get("buffered") or name in self._queues.series:
                self._queues.add(name, moment, node.get("buffered"))
        work = {name: float(node.get("seconds") or 0.0) for name, node in nodes.items()}
        self._count_work(("tf.data", measured.number), work, measured.seconds, moment)

    def _take_own(self, measured: InputMeasured, moment: float) -> None:
        self._queues.add("batches made ahead", moment, measured.ready_batches)
        work = {name: float(getattr(measured, key)) for name, key in OWN_STAGES.items()}
        self._count_work(("own", measured.epoch), work, measured.seconds, moment)

    def _count_work(self, iterator: object, work: dict[str, float], seconds: float, moment: float) -> None:
        """Seconds of work in a second, since the look before; the counters begin anew with each iterator."""
        if iterator != self._iterator or seconds < self._before_s:
            self._iterator, self._before, self._before_s = iterator, {}, 0.0
        passed = seconds - self._before_s
        if passed > 0:
            for name, done in work.items():
                threads = max(0.0, done - self._before.get(name, 0.0)) / passed
                if threads >= MIN_THREADS or name in self._work.series:
                    self._work.add(name, moment, threads)
        self._before, self._before_s = work, seconds

    def plots(self, seconds: float) -> list[Plot | None]:
        return [
            create_line_plot("queues", "Input: how full its queues are", "", self._queues.series, seconds, from_zero=True),
            create_line_plot("stages", "Input: threads at work in each stage", "", self._work.series, seconds, from_zero=True),
        ]


def _named(nodes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By name; a second one of the same name is numbered."""
    found: dict[str, dict[str, Any]] = {}
    for node in nodes:
        name, number = str(node.get("name", "")), 1
        while (name if number == 1 else f"{name} {number}") in found:
            number += 1
        found[name if number == 1 else f"{name} {number}"] = node
    return found


# Memory against its limits over the run, on the host and on each device; and how busy both were.


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

    def peaks(self, plain: dict[str, Any]) -> dict[str, Any]:
        """What is told of memory, with the peaks of all samples, where a journal in memory keeps some."""
        peaks = [peak for _, peak in sorted(self._device_peaks.items())]
        if len(peaks) != len(plain["devices"]):
            return {**plain, "host_peak_bytes": self._host_peak}
        devices = [{**device, "peak_bytes": peak} for device, peak in zip(plain["devices"], peaks, strict=True)]
        return {**plain, "host_peak_bytes": self._host_peak, "devices": devices}

    def plots(self, seconds: float) -> list[Plot | None]:
        limits = {"limit": float(self._host_limit)} if self._host_limit else {}
        cores = {"cores": self._cores}
        return [
            create_line_plot("host_memory", "Host memory", "B", self._host.series, seconds, limits=limits, from_zero=True),
            create_line_plot(
                "device_memory", "Device memory", "B", self._devices.series, seconds, limits=self._sizes(), from_zero=True
            ),
            create_line_plot("cores", "CPU cores at work", "", cores, seconds, from_zero=True),
            create_line_plot("device_busy", "Devices at work", "%", self._busy.series, seconds, from_zero=True),
        ]

    def _sizes(self) -> dict[str, float]:
        """One line for all cards of one size."""
        by_size: dict[int, str] = {}
        for name, size in self._device_limits.items():
            by_size.setdefault(size, name)
        return {"limit" if len(by_size) == 1 else f"limit of {name}": float(size) for size, name in by_size.items() if size}


# Gradients and updates over the run, by groups of layers, as far as they are known.
#
# The probe reads some of a model's variables now and then. Those of neighbouring layers are put together, so that a deep
# model gives a few lines from its first layers to its last. The project's own trainer tells the norms of groups itself, of
# all weights.


MAX_GROUPS = 8
MAX_WEIGHTS_POINTS = 300
MAX_NAMES = 2 * MAX_GROUPS  # a program may train two models
OF_SOME = "Of the variables that were read, from the first layers to the last."
OF_ALL = "Of all weights that learn, before they are cut; means over the updates since the point before."


class Weights:
    def __init__(self) -> None:
        self._gradients = NamedSeries(MAX_WEIGHTS_POINTS, MAX_NAMES)
        self._updates = NamedSeries(MAX_WEIGHTS_POINTS, MAX_NAMES)
        self._note = OF_SOME
        self._names: tuple[str, ...] = ()
        self._groups: dict[str, str] = {}

    def take(self, event: Event, moment: float) -> None:
        if isinstance(event, UpdatesMeasured):
            self._note = OF_ALL
            for group, norm in event.norms.items():
                self._gradients.add(str(group), moment, norm)
        if not isinstance(event, WeightsSampled):
            return
        weights = [weight for weight in event.facts.get("weights") or [] if isinstance(weight, dict)]
        names = tuple(str(weight.get("name", "")) for weight in weights)
        if names != self._names:
            self._names, self._groups = names, group_losses(names)
        for group, members in self._by_group(weights).items():
            self._gradients.add(group, moment, _norm(members, "gradient"))
            self._updates.add(group, moment, _ratio(_norm(members, "step"), _norm(members, "rms")))

    def _by_group(self, weights: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for name, weight in zip(self._names, weights, strict=True):
            found.setdefault(self._groups[name], []).append(weight)
        return found

    def plots(self, seconds: float) -> list[Plot | None]:
        return [
            create_line_plot(
                "gradients", "Gradient norms by group of layers", "", self._gradients.series, seconds, note=self._note
            ),
            create_line_plot("updates", "Size of an update against the weights", "", self._updates.series, seconds, note=OF_SOME),
        ]


def group_losses(names: tuple[str, ...]) -> dict[str, str]:
    """Each variable's group: its layer, or its layer with the neighbours where there are many. 'a/conv/kernel' is of 'a/conv'."""
    layers = list(dict.fromkeys(_layer(name) for name in names))
    common = _common_folder(layers)
    each = max(1, -(-len(layers) // MAX_GROUPS))
    called: dict[str, str] = {}
    for first in range(0, len(layers), each):
        members = layers[first : first + each]
        ends = list(dict.fromkeys(member[len(common) :] or member for member in (members[0], members[-1])))
        called.update(dict.fromkeys(members, " … ".join(ends)))
    return {name: called[_layer(name)] for name in names}


def _layer(name: str) -> str:
    return name.rpartition("/")[0] or name


def _common_folder(layers: list[str]) -> str:
    """What all paths begin with, up to a slash: the name of the model tells nothing."""
    if len(layers) < 2:
        return ""
    first, last = min(layers), max(layers)
    length = next((place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[: first.rfind("/", 0, length) + 1]


def _norm(members: list[dict[str, Any]], key: str) -> float | None:
    """Of all members together, from the root mean square of each. None where one of them was not seen."""
    total = 0.0
    for member in members:
        value = member.get(key)
        if not isinstance(value, int | float):
            return None
        total += float(value) ** 2 * math.prod(member.get("shape") or [1])
    return math.sqrt(total)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
