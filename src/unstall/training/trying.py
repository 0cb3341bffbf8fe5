"""Steps on trial: a detector at its first weights, batches as a run would have them, and whatever rate one likes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unstall.backends.quietly import start
from unstall.report.progress import Progress
from unstall.settings import Settings, changed

BATCHES_AHEAD = 4


class Trial:
    """Nothing of it is kept: `begin_again` takes every step back."""

    def __init__(self, settings: Settings, aside: Path, progress: Progress | None = None) -> None:
        """`aside`: where the embedded shapes are drawn if the user's cache cannot be written."""
        self.backend = start(None if settings.backend == "auto" else settings.backend, takes_card=True)
        from unstall.training.lessons import lessons
        from unstall.training.preparing import built, image_px, pipeline
        from unstall.training.step import Step

        self.settings = settings = settings.alone()
        data = lessons(settings, image_px(settings), aside, progress)
        detector = built(settings, data.classes, lambda line: None)
        # A few batches ahead: a trial takes few, and small ones would be made by the thousand.
        height, width = detector.settings.image_px
        ahead_bytes = min(settings.ahead_bytes, BATCHES_AHEAD * settings.batch_size * height * width * 3)
        self.pipeline = pipeline(changed(settings, {"ahead_bytes": ahead_bytes}), detector, data.train)
        self._step = Step(detector, self.settings, total_steps=1)
        self._first = self._step.arrays()

    @contextmanager
    def batches(self) -> Iterator[Iterator[dict[str, Any]]]:
        """As many as are asked for, over as many epochs."""
        from unstall.training.fitting import fed

        with self.pipeline.batches(epochs=None) as stream:
            yield (fed(batch) for batch in stream)

    def loss_at(self, rate: float, batch: dict[str, Any]) -> float:
        """The loss before this step's update; infinite where the update was not finite, and so not applied."""
        told = self._step(batch, rate).read()
        return told.loss if told.is_applied or told.is_overflow else float("inf")

    def begin_again(self) -> None:
        self._step.restore(self._first)
