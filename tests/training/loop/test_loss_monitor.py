"""What steps told is read late, summed up, and judged. No framework is needed: what a step tells is a few numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.data.pipeline.pictures import some_data
from unstall.base.exit_codes import DIVERGED, NOT_FINITE
from unstall.data.pipeline import Batch, Pipeline, PipelineSettings
from unstall.journal.events import LossDiverged, UpdateSkipped
from unstall.journal.reader import read_folder
from unstall.journal.run_folder import RunFolder
from unstall.probe.core import probe
from unstall.training.loop.loss_monitor import UNREAD_STEPS, LossMonitor, TrainingStopped
from unstall.training.loop.position import Position


@dataclass(frozen=True)
class ReadOutput:
    """As a step tells it."""

    loss: float
    gradient_norm: float = 1.0
    is_applied: bool = True
    is_overflow: bool = False
    rate: float = 0.1

    @property
    def group_norms(self) -> dict[str, float]:
        return {"backbone": self.gradient_norm, "head": 2 * self.gradient_norm}

    @property
    def losses(self) -> dict[str, float]:
        return {"class": self.loss / 2, "box": self.loss / 2}

    def read(self) -> ReadOutput:
        return self


NOTHING = ReadOutput(float("nan"), is_applied=False)


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    with Pipeline(
        some_data(tmp_path), PipelineSettings(batch_size=4, height_px=64, width_px=96, num_input_workers=1)
    ).batches() as batches:
        return next(batches)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFolder]:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    probe.set_current(probe.Probe(folder))
    yield folder
    probe.set_current(None)


class Harness:
    def __init__(self, run: RunFolder, batch: Batch, folder: Path) -> None:
        self.said: list[str] = []
        self.at = Position(steps_per_epoch=10_000)
        self.loss_monitor = LossMonitor(run, some_data(folder), 0, self.at, self.said.append)
        self._batch, self._step = batch, 0

    def see(self, *result: ReadOutput) -> None:
        for each in result:
            self._step += 1
            self.loss_monitor.see(self._step, each, self._batch)  # type: ignore[arg-type]


@pytest.fixture
def harness(run: RunFolder, batch: Batch, tmp_path: Path) -> Harness:
    return Harness(run, batch, tmp_path)


def test_the_last_steps_are_not_read_until_somebody_waits_for_them(harness: Harness) -> None:
    harness.see(*[ReadOutput(float(step)) for step in range(1, 11)])
    assert harness.at.now.applied == 10 - UNREAD_STEPS and harness.loss_monitor.last_loss == 10 - UNREAD_STEPS
    harness.loss_monitor.read_all()
    assert harness.at.now.applied == 10 and harness.at.now.means() == {"class": 2.75, "box": 2.75}


def test_updates_that_are_never_finite_end_it_with_the_batches_for_a_look(harness: Harness, run: RunFolder, batch: Batch) -> None:
    harness.see(ReadOutput(1.0), NOTHING, ReadOutput(1.0))
    with pytest.raises(TrainingStopped) as stopped:
        harness.see(*[NOTHING] * 10)
    assert stopped.value.exit_code is NOT_FINITE
    skipped = read_folder(run.path).of(UpdateSkipped)
    assert [event.in_a_row for event in skipped] == [1, 1, 2, 3, 4, 5]
    assert [event.step for event in skipped] == [2, 4, 5, 6, 7, 8]
    assert all(event.what == "loss" and event.rows == batch.rows.tolist() and Path(event.path).exists() for event in skipped)
    assert harness.at.now.applied == 2 and harness.at.now.skipped == 6
    assert "Step 2: the loss is not finite, and the update is not applied." in harness.said[0]


def test_a_gradient_that_is_not_finite_is_called_so(harness: Harness, run: RunFolder) -> None:
    harness.see(ReadOutput(1.0, float("inf"), is_applied=False))
    harness.loss_monitor.read_all()
    assert [event.what for event in read_folder(run.path).of(UpdateSkipped)] == ["gradient"]


def test_a_scale_that_was_too_high_for_float16_is_nothing_to_tell(harness: Harness, run: RunFolder) -> None:
    harness.see(*[ReadOutput(1.0, float("inf"), is_applied=False, is_overflow=True)] * 20, ReadOutput(1.0))
    harness.loss_monitor.read_all()
    assert harness.at.now.skipped == 20 and not harness.said and not read_folder(run.path).of(UpdateSkipped)


def test_a_loss_that_rises_for_good_ends_it_and_says_since_when(harness: Harness, run: RunFolder) -> None:
    harness.see(*[ReadOutput(1.0)] * 300)
    with pytest.raises(TrainingStopped) as stopped:
        harness.see(*[ReadOutput(50.0)] * 200)
    assert stopped.value.exit_code is DIVERGED and 300 <= stopped.value.since_step <= 302
    (event,) = read_folder(run.path).of(LossDiverged)
    assert (event.loss, event.usual_loss, event.since_step) == (50.0, 1.0, stopped.value.since_step)


def test_while_the_loss_is_high_nothing_should_be_kept(harness: Harness) -> None:
    harness.see(*[ReadOutput(1.0)] * 300, *[ReadOutput(50.0)] * 30)
    assert harness.loss_monitor.is_suspicious
    harness.see(*[ReadOutput(1.0)] * 30)
    assert not harness.loss_monitor.is_suspicious
