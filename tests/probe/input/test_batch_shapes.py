"""The shapes of batches, counted: each once told, the largest first, and never more than a few events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unstall.journal.events import BatchesCounted
from unstall.journal.reader import read_folder
from unstall.journal.run_folder import RunFolder
from unstall.probe.core import probe as probe_module
from unstall.probe.core.probe import Probe
from unstall.probe.input import batch_shapes
from unstall.probe.input.batch_shapes import LISTED, MAX_SHAPES, BatchShapes


@pytest.fixture
def shapes(tmp_path: Path) -> BatchShapes:
    return BatchShapes(Probe(RunFolder(tmp_path)))


@pytest.fixture(autouse=True)
def no_other_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_module, "_current", None)


def counted_batches(folder: Path) -> list[BatchesCounted]:
    return read_folder(folder).of(BatchesCounted)


@pytest.fixture
def each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch is looked at, however short the steps are."""
    monkeypatch.setattr(batch_shapes, "LOOK_EVERY_S", 0.0)


def test_of_very_short_steps_the_first_are_looked_at_and_later_ones_now_and_then(
    shapes: BatchShapes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_shapes, "LOOK_EVERY_S", 3600.0)
    for _ in range(1000):
        shapes.see(np.zeros((4, 8)))
    shapes.report()
    assert counted_batches(tmp_path)[-1].batches == batch_shapes.EACH_UP_TO


@pytest.mark.usefixtures("each")
def test_the_first_batch_is_told_at_once_and_later_ones_seldom(shapes: BatchShapes, tmp_path: Path) -> None:
    for _ in range(1000):
        shapes.see((np.zeros((4, 8), "float32"), np.zeros(4, "int64")))
    shapes.report()
    events = counted_batches(tmp_path)
    assert events[0].shapes == [{"arrays": [["x", "", [4, 8], "float32"], ["y", "", [4], "int64"]], "batches": 1}]
    assert (events[-1].batches, events[-1].different) == (1000, 1)
    assert len(events) < 10


def test_shapes_that_differ_are_counted_apart_and_the_largest_stands_first(shapes: BatchShapes, tmp_path: Path) -> None:
    for size in (16, 64, 32, 64):
        shapes.see({"images": np.zeros((2, size, size, 3), "uint8")})
    shapes.report()
    last = counted_batches(tmp_path)[-1]
    assert [(shape["arrays"][0][2][1], shape["batches"]) for shape in last.shapes] == [(64, 2), (32, 1), (16, 1)]
    assert last.different == 3


@pytest.mark.usefixtures("each")
def test_a_batch_of_another_shape_each_time_does_not_fill_the_journal(shapes: BatchShapes, tmp_path: Path) -> None:
    for size in range(1, 500):
        shapes.see(np.zeros((1, size)))
    shapes.report()
    last = counted_batches(tmp_path)[-1]
    assert len(last.shapes) == LISTED and last.different == MAX_SHAPES + 1 and last.batches == 499


@pytest.mark.parametrize("batch", [None, 3, "text", [], {}, object(), [1, 2]])
def test_what_holds_no_array_is_passed_over(batch: object, shapes: BatchShapes, tmp_path: Path) -> None:
    shapes.see(batch)
    shapes.report()
    assert counted_batches(tmp_path) == []
