"""How far a run is, and how it has gone: all that a checkpoint holds beside the numbers of the step. Plain data, exact."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any

FIGURE = "AP"  # by which one epoch is better than another
NOTHING_TO_FIND = -1.0  # in its place where the images to score on have no objects: worse than 0
Row = dict[str, float | int | bool | None]  # of the history


@dataclass
class Epoch:
    """Sums over the steps of the epoch that is going on: the means of a resumed run are those of one that never stopped."""

    losses: dict[str, float] = field(default_factory=dict)
    gradient_norm: float = 0.0
    applied: int = 0
    skipped: int = 0
    rate: float = 0.0  # of the last step
    seconds: float = 0.0  # of learning
    wait_s: float = 0.0  # of these, for input

    def add(self, losses: dict[str, float], gradient_norm: float, rate: float) -> None:
        for name, loss in losses.items():
            self.losses[name] = self.losses.get(name, 0.0) + loss
        self.gradient_norm += gradient_norm
        self.applied += 1
        self.rate = rate

    def means(self) -> dict[str, float]:
        return {name: total / self.applied for name, total in self.losses.items()} if self.applied else {}


@dataclass
class Position:
    epoch: int = 0
    step_in_epoch: int = 0  # that comes next; as many as an epoch has: all are done, and the epoch is to be scored
    steps_per_epoch: int = 1
    now: Epoch = field(default_factory=Epoch)
    history: list[Row] = field(default_factory=list)
    best_epoch: int | None = None
    best_figure: float = -math.inf
    more_steps: int = (
        0  # that were done than so many epochs of today would have: there was another batch size once, or other data
    )

    @property
    def step(self) -> int:
        """Steps done, over all epochs."""
        return self.epoch * self.steps_per_epoch + self.step_in_epoch + self.more_steps

    def end_epoch(self, figures: dict[str, float | None], score_s: float) -> Row:
        """Its row of the history; the next epoch begins."""
        now, means = self.now, self.now.means()
        row: Row = {
            "epoch": self.epoch + 1,
            "step": self.step,
            "loss": sum(means.values()) if means else None,
            **{f"{name}_loss": value for name, value in means.items()},
            "gradient_norm": now.gradient_norm / now.applied if now.applied else None,
            "rate": now.rate,
            "skipped_updates": now.skipped,
            **figures,
            "is_best": self.is_better(figures),
            "learn_s": round(now.seconds, 3),
            "wait_s": round(now.wait_s, 3),
            "score_s": round(score_s, 3),
        }
        if self.is_better(figures):
            self.best_epoch, self.best_figure = self.epoch, _figure(figures)
        self.history.append(row)
        self.epoch, self.step_in_epoch, self.now = self.epoch + 1, 0, Epoch()
        return row

    def is_better(self, figures: dict[str, float | None]) -> bool:
        """Than all epochs before; where nothing was scored, nothing is. Where there was nothing to find, the last is."""
        figure = _figure(figures)
        return bool(figures) and (figure > self.best_figure or figure == self.best_figure == NOTHING_TO_FIND)

    def epochs_without_better(self) -> int:
        return 0 if self.best_epoch is None else self.epoch - 1 - self.best_epoch

    def as_plain(self) -> dict[str, Any]:
        return {**asdict(self), "step": self.step}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], steps_per_epoch: int) -> Position:
        """Another batch size makes another number of steps: the run goes on at the same share of its epoch, and steps are counted
        on from those that were done: checkpoints are told apart by them."""
        known = {each.name: plain[each.name] for each in fields(cls) if each.name in plain}
        position = cls(**{**known, "now": Epoch(**plain["now"])})
        if position.steps_per_epoch != steps_per_epoch:
            share = position.step_in_epoch / position.steps_per_epoch
            done = position.step
            position.steps_per_epoch, position.step_in_epoch = steps_per_epoch, math.floor(share * steps_per_epoch)
            position.more_steps += done - position.step
        return position


def _figure(figures: dict[str, float | None]) -> float:
    value = figures.get(FIGURE)
    return NOTHING_TO_FIND if value is None else value
