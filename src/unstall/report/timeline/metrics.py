"""The numbers of a training over the run: its losses, the figures of its epochs, the learning rate."""

from __future__ import annotations

from unstall.journal.events import EpochEnded, Event, StepsEnded, UpdatesMeasured, WeightsSampled
from unstall.report.timeline.bins import NamedSeries, Series
from unstall.report.timeline.plots import Plot, line_plot

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
            line_plot("loss", "Loss", "", self._losses.series, seconds),
            line_plot("figures", "Figures of each epoch", "", self._figures.series, seconds),
            line_plot("gradient_norm", "Gradient norm", "", {"of all weights": self._norm}, seconds),
            line_plot("learning_rate", "Learning rate", "", {"learning rate": self._rate}, seconds, from_zero=True),
        ]
