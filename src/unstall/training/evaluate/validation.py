"""How well the detector does after an epoch, on data that it has not learned from; what is the best is kept."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from unstall.config.settings import Settings
from unstall.data.example import DataSet
from unstall.detectors.detector import InferenceModel
from unstall.training.distributed.collectives import Collectives
from unstall.training.evaluate.evaluation import detect_all, evaluate_detections
from unstall.training.evaluate.inference import DataSetDetections
from unstall.training.loop import instrumentation
from unstall.training.loop.datasets import TrainValData
from unstall.training.loop.interruption import Interrupted, Interruption
from unstall.training.loop.position import Position
from unstall.training.loop.progress_line import TrainingLine
from unstall.training.loop.results import Results, draw_pictures
from unstall.training.tensorboard import SummaryWriter

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
