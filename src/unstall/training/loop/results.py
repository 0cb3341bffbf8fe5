"""What a run leaves for people: the best and the last weights, the score, the history, pictures. A disk that refuses one of
them is told once, and never ends the training."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.base.private_files import write_whole
from unstall.config.settings import Settings
from unstall.detectors.detector import Detector
from unstall.detectors.weights import store
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import finite
from unstall.training.evaluate import pictures, train_overlap
from unstall.training.evaluate.pictures import Picture
from unstall.training.loop.datasets import TrainValData
from unstall.training.loop.position import EpochScore, History, Position, Row, forget, recall, remember

SCORE = "the score"


class Results:
    def __init__(
        self, run: RunFolder, settings: Settings, detector: Detector, learned: TrainValData, say: Callable[[str], None],
        is_kept: bool = True,
    ) -> None:  # fmt: skip
        """Where `is_kept` is False nothing is written: of several workers only the first does."""
        self._is_kept = is_kept
        self._run, self._settings, self._detector, self._learned, self._say = run, settings, detector, learned, say
        self._history = History(run.history_path)
        self.not_kept: dict[str, str] = {}  # what a disk has refused when it was last tried, and why

    def keep_best(self, score: dict[str, Any]) -> None:
        """With its score, which is plain data."""
        self._keep_weights(self._run.best_weights_path)
        text = json.dumps(finite(score), indent=1) + "\n"
        self._keep(SCORE, lambda: write_whole(self._run.score_path, text))

    def keep_last(self) -> None:
        self._keep_weights(self._run.last_weights_path)

    def keep_history(self, rows: Sequence[Row]) -> None:
        self._keep("the history", lambda: self._history.write(rows))

    def keep_scored(self, at: Position, scored: EpochScore) -> None:
        self._keep("the score of the epoch", lambda: remember(self._run.scored_path, at, scored))

    def forget_scored(self) -> None:
        self._keep(self._run.scored_path.name, lambda: forget(self._run.scored_path))

    def scored_before(self, at: Position) -> EpochScore | None:
        return recall(self._run.scored_path, at)

    def keep_pictures(self, made: Sequence[Picture]) -> None:
        self._keep("pictures", lambda: pictures.write(self._run.predictions_path, made))

    def best_score(self) -> dict[str, Any] | None:
        try:
            score = json.loads(self._run.score_path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return score if isinstance(score, dict) else None

    def take_best(self) -> bool:
        """The detector gets the best weights back; whether there are any."""
        if self._run.best_weights_path.exists():
            store.load(self._detector, self._run.best_weights_path)
            return True
        return False

    def _keep_weights(self, path: Path) -> None:
        """Without the name of the run: equal runs write equal files."""
        classes = self._learned.classes
        self._keep(path.name, lambda: store.save(self._detector, path, classes, trained_on=self._trained_on))

    @cached_property
    def _trained_on(self) -> dict[str, Any]:
        """When weights are first kept, and not before the first step: the images' files are looked at for it."""
        learned = self._learned
        found = train_overlap.describe_training_images(self._settings, learned)
        self._keep("the split", lambda: train_overlap.keep(self._run, found, learned))
        return found.as_plain()

    def _keep(self, what: str, write: Callable[[], object]) -> None:
        if not self._is_kept:
            return
        try:
            write()
            self.not_kept.pop(what, None)
        except (OSError, InvalidInputError) as error:  # writers of ours say by InvalidInputError that a disk refuses
            why = ((error.strerror if isinstance(error, OSError) else None) or str(error)).rstrip(".")
            if what not in self.not_kept:
                self._say(f"Cannot keep {what}: {why}. The training goes on, and it is tried again.")
            self.not_kept[what] = why
