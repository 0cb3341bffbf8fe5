"""How well the detector does after an epoch, on data that it has not learned from; what is the best is kept."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from unstall.config.settings import Settings
from unstall.data.example import DataSet
from unstall.training.distributed.collectives import Company
from unstall.training.evaluate.detections import Detected
from unstall.training.evaluate.evaluation import detected, judged
from unstall.training.evaluate.inference import Detecting
from unstall.training.evaluate.pictures import pictures
from unstall.training.loop import instrumentation
from unstall.training.loop.datasets import TrainValData
from unstall.training.loop.interruption import Interrupted, Interruption
from unstall.training.loop.position import Position
from unstall.training.loop.progress_line import TrainingLine
from unstall.training.loop.results import Results
from unstall.training.tensorboard.writer import Board

PICTURES_EACH_EPOCH = 3  # for TensorBoard
Figures = dict[str, float | None]


class Scoring:
    def __init__(
        self,
        settings: Settings,
        backend: str,
        lessons: TrainValData,
        detecting: Detecting,
        results: Results,
        board: Board | None,
        line: TrainingLine,
        interruption: Interruption,
        company: Company,
    ) -> None:
        self._company = company
        self._settings, self._backend, self._lessons, self._detecting = settings, backend, lessons, detecting
        self._results, self._board, self._line, self._interruption = results, board, line, interruption
        self._batch_size = settings.at_once

    def is_due(self, at: Position) -> bool:
        every, done = self._settings.eval_interval, at.epoch + 1
        is_last = done == self._settings.epochs
        return self._lessons.validation is not None and (is_last or bool(every and done % every == 0))

    def score(self, at: Position) -> Figures:
        """By the weights that the detector holds. Of several workers each looks at its part of the images, the first puts
        together what they found, and all hear the figures: while it does, the others show that they live."""
        data = self._lessons.validation
        assert data is not None
        with instrumentation.phase("validate"):
            figures: Figures = self._company.from_first(partial(self._judged, at, data, self._found(data)))
        return figures

    def _found(self, data: DataSet) -> Detected | None:
        """What all workers have found, each in its part of the images; None but for the first."""
        who = self._company.who
        part = replace(data, examples=data.examples[who.worker :: who.workers])
        self._line.works("detecting", 0, len(part.examples))
        progress = Validating(self._line, self._interruption, self._batch_size)
        own = detected(self._detecting, part, self._batch_size, progress) if part.examples else Detected({}, {})
        if self._company.is_alone:
            return own
        parts = self._company.at_first(own.packed())
        return None if parts is None else Detected.of_parts(parts)

    def _judged(self, at: Position, data: DataSet, found: Detected | None) -> Figures:
        assert found is not None
        classes = self._lessons.classes
        progress = Validating(self._line, self._interruption, self._batch_size)
        evaluation = judged(self._detecting.detector, data, classes, found, progress).as_plain()
        if self._board is not None:
            for picture in pictures(self._detecting, data, classes, self._batch_size, PICTURES_EACH_EPOCH):
                self._board.picture(at.step, picture.name, picture.image)
        figures: Figures = evaluation["figures"]
        if at.is_better(figures):
            run = {"epoch": at.epoch + 1, "step": at.step, "model": self._settings.model, "data": str(data.path)}
            self._results.keep_best({**run, "backend": self._backend, **evaluation})
        return figures

    def draw(self) -> None:
        """A few pictures of what the best weights find."""
        if self._lessons.validation is not None:
            self._line.works("drawing pictures", 0, 0)
            with instrumentation.phase("predict"):
                self._results.take_best()
                made = pictures(self._detecting, self._lessons.validation, self._lessons.classes, self._batch_size)
            self._results.keep_pictures(made)


class Validating:
    """Told how far the scoring is: shown, journalled batch by batch, and ended where somebody asks for it."""

    def __init__(self, line: TrainingLine, interruption: Interruption, batch_size: int) -> None:
        self._line, self._interruption, self._batch_size = line, interruption, batch_size
        self._began = time.monotonic()

    def __call__(self, what: str, done: int, of: int) -> None:
        if self._interruption.is_asked:
            raise Interrupted
        self._line.works(what, done, of)
        if what == "detecting" and (done % self._batch_size == 0 or done == of):
            instrumentation.validated(self._began)
            self._began = time.monotonic()
        else:
            instrumentation.alive()
