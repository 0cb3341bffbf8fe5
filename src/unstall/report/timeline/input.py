"""The input over the run: how full its queues were, and how many threads worked in each stage."""

from __future__ import annotations

from typing import Any

from unstall.journal.events import Event, InputMeasured, PipelineMeasured
from unstall.report.timeline.bins import NamedSeries
from unstall.report.timeline.plots import Plot, line_plot

MAX_POINTS = 300
MAX_STAGES = 12
MIN_THREADS = 0.01  # a stage that never does more is not worth a line
OWN_STAGES = {"read": "read_s", "decode": "decode_s", "augment": "augment_s", "batch": "batch_s", "transfer": "transfer_s"}


class Input:
    def __init__(self) -> None:
        self._queues = NamedSeries(MAX_POINTS, MAX_STAGES)
        self._work = NamedSeries(MAX_POINTS, MAX_STAGES)
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
            line_plot("queues", "Input: how full its queues are", "", self._queues.series, seconds, from_zero=True),
            line_plot("stages", "Input: threads at work in each stage", "", self._work.series, seconds, from_zero=True),
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
