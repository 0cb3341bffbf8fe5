"""How far a run is, and how it has gone: all that a checkpoint holds beside the numbers of the step. Plain data, exact."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from unstall.base.files import write_whole
from unstall.journal.legacy_names import update_history_row

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

    def end_epoch(self, figures: dict[str, float | None], eval_s: float) -> Row:
        """Its row of the history; the next epoch begins."""
        now, means = self.now, self.now.means()
        row: Row = {
            "epoch": self.epoch + 1,
            "step": self.step,
            "loss": sum(means.values()) if means else None,
            **{f"{name}_loss": value for name, value in means.items()},
            "gradient_norm": now.gradient_norm / now.applied if now.applied else None,
            "learning_rate": now.rate,
            "skipped_updates": now.skipped,
            **figures,
            "is_best": self.is_better(figures),
            "train_s": round(now.seconds, 3),
            "input_wait_s": round(now.wait_s, 3),
            "eval_s": round(eval_s, 3),
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

    def epochs_without_improvement(self) -> int:
        return 0 if self.best_epoch is None else self.epoch - 1 - self.best_epoch

    def as_plain(self) -> dict[str, Any]:
        return {**asdict(self), "step": self.step}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], steps_per_epoch: int) -> Position:
        """Another batch size makes another number of steps: the run goes on at the same share of its epoch, and steps are counted
        on from those that were done: checkpoints are told apart by them."""
        known = {each.name: plain[each.name] for each in fields(cls) if each.name in plain}
        history = [update_history_row(row) for row in plain.get("history", [])]
        position = cls(**{**known, "now": Epoch(**plain["now"]), "history": history})
        if position.steps_per_epoch != steps_per_epoch:
            share = position.step_in_epoch / position.steps_per_epoch
            done = position.step
            position.steps_per_epoch, position.step_in_epoch = steps_per_epoch, math.floor(share * steps_per_epoch)
            position.more_steps += done - position.step
        return position


def _figure(figures: dict[str, float | None]) -> float:
    value = figures.get(FIGURE)
    return NOTHING_TO_FIND if value is None else value


# The history of a run as CSV: a row for each epoch. A run that goes on writes it anew, as its checkpoint has it, and then
# adds to it: no row comes twice, and none that was never finished stays.


class History:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: list[str] = []
        self._rows = 0  # that are in the file

    def write(self, rows: Sequence[Row]) -> None:
        """All of them; those before the last are there already, mostly. A disk that refuses is an OSError."""
        there, self._rows = self._rows, 0  # until this has gone well: after a disk that was full it is written anew
        columns = list(dict.fromkeys([*self._columns, *(name for row in rows[there:] for name in row)]))
        if there and columns == self._columns:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_text(columns, rows[there:]))
        else:
            columns = list(dict.fromkeys(name for row in rows for name in row))
            write_whole(self._path, ",".join(columns) + "\n" + _text(columns, rows))
        self._columns, self._rows = columns, len(rows)


def _text(columns: Sequence[str], rows: Sequence[Row]) -> str:
    text = io.StringIO()
    csv.DictWriter(text, columns, lineterminator="\n").writerows(rows)
    return text.getvalue()


# The score of the epoch that was scored last: a run that goes on right from the end of that epoch does not score it again.
#
# A checkpoint at the end of an epoch is written before the epoch is scored: else a score that fails would cost the epoch. So
# the score stands in a file of its own, with the sums of the epoch that it belongs to; their times no two lives have in
# common.


@dataclass(frozen=True)
class EpochScore:
    figures: dict[str, float | None]  # none where the epoch was none to be scored
    seconds: float


def remember(path: Path, at: Position, scored: EpochScore) -> None:
    """Of the epoch that this position ends. A disk that refuses is an OSError."""
    write_whole(path, json.dumps({"of": _epoch(at), **asdict(scored)}) + "\n")


def recall(path: Path, at: Position) -> EpochScore | None:
    """None where the position does not end the very epoch that was scored last."""
    if at.step_in_epoch < at.steps_per_epoch:
        return None
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        is_the_same = stored["of"] == json.loads(json.dumps(_epoch(at)))
        return EpochScore(stored["figures"], stored["seconds"]) if is_the_same else None
    except (OSError, ValueError, TypeError, KeyError):  # absent, or not ours: then it is scored again
        return None


def forget(path: Path) -> None:
    """Before the next is scored: what is the best so far may change from here on."""
    path.unlink(missing_ok=True)


def _epoch(at: Position) -> dict[str, Any]:
    return {"epoch": at.epoch, "step": at.step, "sums": asdict(at.now)}
