"""How well the detector does after an epoch, and what a run leaves for people: the best and the last weights, the score, the
history, pictures. A disk that refuses one of them is told once, and never ends the training."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unstall.base.errors import InvalidInputError
from unstall.base.files import write_whole
from unstall.config.settings import Settings
from unstall.data.example import DataSet, Example, Floats
from unstall.data.tools.visualization import GROUND, choose_colour, choose_rows, decode_thumbnail, draw_box, save
from unstall.detectors.detector import Detector, InferenceModel
from unstall.detectors.weights import store
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import replace_not_finite
from unstall.training.distributed.collectives import Collectives
from unstall.training.evaluate import train_overlap
from unstall.training.evaluate.evaluation import detect_all, evaluate_detections
from unstall.training.evaluate.inference import DataSetDetections, ImageDetections, create_pipeline, detect_examples
from unstall.training.loop import instrumentation
from unstall.training.loop.datasets import TrainValData
from unstall.training.loop.instrumentation import TrainingLine
from unstall.training.loop.interruption import Interrupted, Interruption
from unstall.training.loop.position import EpochScore, History, Position, Row, forget, recall, remember
from unstall.training.tensorboard import SummaryWriter

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

    def save_best(self, score: dict[str, Any]) -> None:
        """With its score, which is plain data."""
        self._keep_weights(self._run.best_weights_path)
        text = json.dumps(replace_not_finite(score), indent=1) + "\n"
        self._keep(SCORE, lambda: write_whole(self._run.score_path, text))

    def save_last(self) -> None:
        self._keep_weights(self._run.last_weights_path)

    def save_history(self, rows: Sequence[Row]) -> None:
        self._keep("the history", lambda: self._history.write(rows))

    def save_epoch_score(self, at: Position, scored: EpochScore) -> None:
        self._keep("the score of the epoch", lambda: remember(self._run.scored_path, at, scored))

    def delete_epoch_score(self) -> None:
        self._keep(self._run.scored_path.name, lambda: forget(self._run.scored_path))

    def load_epoch_score(self, at: Position) -> EpochScore | None:
        return recall(self._run.scored_path, at)

    def save_pictures(self, made: Sequence[Picture]) -> None:
        self._keep("pictures", lambda: write_pictures(self._run.predictions_path, made))

    def best_score(self) -> dict[str, Any] | None:
        try:
            score = json.loads(self._run.score_path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return score if isinstance(score, dict) else None

    def load_best(self) -> bool:
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


# How well the detector does after an epoch, on data that it has not learned from; what is the best is kept.


PICTURES_EACH_EPOCH = 3  # for TensorBoard
Figures = dict[str, float | None]


class ValidationScorer:
    def __init__(
        self,
        settings: Settings,
        backend: str,
        datasets: TrainValData,
        detecting: InferenceModel,
        results: Results,
        board: SummaryWriter | None,
        line: TrainingLine,
        interruption: Interruption,
        collectives: Collectives,
    ) -> None:
        self._collectives = collectives
        self._settings, self._backend, self._datasets, self._detecting = settings, backend, datasets, detecting
        self._results, self._board, self._line, self._interruption = results, board, line, interruption
        self._batch_size = settings.at_once

    def is_due(self, at: Position) -> bool:
        every, done = self._settings.eval_interval, at.epoch + 1
        is_last = done == self._settings.epochs
        return self._datasets.validation is not None and (is_last or bool(every and done % every == 0))

    def score(self, at: Position) -> Figures:
        """By the weights that the detector holds. Of several workers each looks at its part of the images, the first puts
        together what they found, and all hear the figures: while it does, the others show that they live."""
        data = self._datasets.validation
        assert data is not None
        with instrumentation.report_phase("validate"):
            figures: Figures = self._collectives.broadcast(partial(self._judged, at, data, self._found(data)))
        return figures

    def _found(self, data: DataSet) -> DataSetDetections | None:
        """What all workers have found, each in its part of the images; None but for the first."""
        who = self._collectives.who
        part = replace(data, examples=data.examples[who.rank :: who.world_size])
        self._line.works("detecting", 0, len(part.examples))
        progress = ValidationProgress(self._line, self._interruption, self._batch_size)
        own = detect_all(self._detecting, part, self._batch_size, progress) if part.examples else DataSetDetections({}, {})
        if self._collectives.is_alone:
            return own
        parts = self._collectives.gather(own.packed())
        return None if parts is None else DataSetDetections.from_parts(parts)

    def _judged(self, at: Position, data: DataSet, found: DataSetDetections | None) -> Figures:
        assert found is not None
        classes = self._datasets.classes
        progress = ValidationProgress(self._line, self._interruption, self._batch_size)
        evaluation = evaluate_detections(self._detecting.detector, data, classes, found, progress).as_plain()
        if self._board is not None:
            for picture in draw_pictures(self._detecting, data, classes, self._batch_size, PICTURES_EACH_EPOCH):
                self._board.picture(at.step, picture.name, picture.image)
        figures: Figures = evaluation["figures"]
        if at.is_better(figures):
            run = {"epoch": at.epoch + 1, "step": at.step, "model": self._settings.model, "data": str(data.path)}
            self._results.save_best({**run, "backend": self._backend, **evaluation})
        return figures

    def draw_predictions(self) -> None:
        """A few pictures of what the best weights find."""
        if self._datasets.validation is not None:
            self._line.works("drawing pictures", 0, 0)
            with instrumentation.report_phase("predict"):
                self._results.load_best()
                made = draw_pictures(self._detecting, self._datasets.validation, self._datasets.classes, self._batch_size)
            self._results.save_pictures(made)


class ValidationProgress:
    """Told how far the scoring is: shown, journalled batch by batch, and ended where somebody asks for it."""

    def __init__(self, line: TrainingLine, interruption: Interruption, batch_size: int) -> None:
        self._line, self._interruption, self._batch_size = line, interruption, batch_size
        self._began = time.monotonic()

    def __call__(self, what: str, done: int, of: int) -> None:
        if self._interruption.is_requested:
            raise Interrupted
        self._line.works(what, done, of)
        if what == "detecting" and (done % self._batch_size == 0 or done == of):
            instrumentation.validation_step_ended(self._began)
            self._began = time.monotonic()
        else:
            instrumentation.report_alive()


# Pictures of a few images: on the left what is there, on the right what the detector finds.


MAX_PICTURES = 6
MIN_SCORE = 0.3
SIDE = 480  # pixels of the longer side, at most; a smaller image is made larger, so that names can be read
GAP = 8
CAPTION = 16


class Picture(NamedTuple):
    name: str
    image: Any  # RGB, as Pillow has it


def draw_pictures(
    model: InferenceModel, data: DataSet, class_names: Sequence[str], batch_size: int, most: int = MAX_PICTURES
) -> list[Picture]:
    """The same images each time. `class_names` are the detector's; the data set's may be others."""
    some = replace(data, examples=[data.examples[row] for row in choose_rows(data, most, seed=0)])
    found = dict(detect_examples(model, create_pipeline(model.detector, some, batch_size)))
    drawn = (_beside(some.examples[row], data.classes, found[row], class_names) for row in sorted(found))
    return [picture for picture in drawn if picture is not None]


def write_pictures(folder: Path, made: Sequence[Picture]) -> list[Path]:
    """As PNG. A disk that refuses is an OSError, or InvalidInputError with its words."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, picture in enumerate(made, start=1):
        paths.append(folder / f"{number:02d}-{Path(picture.name).stem}.png")
        save(picture.image, paths[-1])
    return paths


def _beside(example: Example, classes: Sequence[str], found: ImageDetections, class_names: Sequence[str]) -> Picture | None:
    from PIL import Image, ImageDraw

    shown = found.at_least(MIN_SCORE)
    there = [_named(classes, number) for number in example.classes.tolist()]
    answers = [
        f"{_named(class_names, number)[:17]} {score:.2f}"
        for number, score in zip(shown.classes.tolist(), shown.scores.tolist(), strict=True)
    ]
    left = _drawn(example, example.boxes, example.classes.tolist(), there)
    right = _drawn(example, shown.boxes, shown.classes.tolist(), answers)
    if left is None or right is None:
        return None
    both = Image.new("RGB", (left.width + right.width + GAP, left.height + CAPTION), GROUND)
    both.paste(left, (0, CAPTION))
    both.paste(right, (left.width + GAP, CAPTION))
    pen = ImageDraw.Draw(both)
    pen.text((2, 2), "what is there", fill=(220, 220, 224))
    pen.text((left.width + GAP + 2, 2), f"what is found, {MIN_SCORE:g} and more", fill=(220, 220, 224))
    return Picture(example.name, both)


def _drawn(example: Example, boxes: Floats, numbers: Sequence[int], labels: Sequence[str]) -> Any:
    from PIL import ImageDraw

    opened = decode_thumbnail(example.image, SIDE, (example.width, example.height)) if example.image is not None else None
    if opened is None:
        return None
    image, scale = opened
    larger = max(1, SIDE // max(image.width, image.height))
    image, scale = image.resize((image.width * larger, image.height * larger)), scale * larger
    pen = ImageDraw.Draw(image)
    for box, number, label in reversed(list(zip(boxes, numbers, labels, strict=True))):  # the best last, on top
        if np.isfinite(box).all():
            draw_box(pen, box * scale, choose_colour(number), label)
    return image


def _named(names: Sequence[str], number: int) -> str:
    return names[number] if 0 <= number < len(names) else str(number)
