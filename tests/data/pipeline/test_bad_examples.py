"""A bad example costs itself alone; many of them end the run; a worker that hangs or dies is replaced. Nothing waits for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.data.pipeline.pictures import data_set, example, some_data
from unstall.base.errors import InvalidInputError, UnstallError
from unstall.data.augment.augmentations import Mosaic
from unstall.data.example import DataSet, Example
from unstall.data.pipeline import Batch, Pipeline, PipelineSettings
from unstall.data.pipeline.image_loader import compute_max_bad
from unstall.data.pipeline.mapper import ExampleMapper
from unstall.journal.events import Event, ExampleSkipped, WorkerReplaced
from unstall.journal.reader import read_folder
from unstall.journal.run_folder import RunFolder
from unstall.probe.core import probe

SETTINGS = PipelineSettings(batch_size=4, height_px=64, width_px=80, num_input_workers=2, max_bad_fraction=0.2, max_example_s=0.4)


def with_row(data: DataSet, row: int, bad: Example) -> DataSet:
    examples = list(data.examples)
    examples[row] = bad
    return data_set(examples)


def broken(data: DataSet, row: int, keep: float = 0.5) -> Path:
    path = data.examples[row].image.path  # type: ignore[union-attr]
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    return path


def with_pipe(folder: Path, count: int = 12) -> DataSet:
    """A file that hangs whoever opens it: a pipe into which nobody writes."""
    os.mkfifo(folder / "pipe.jpg")
    return with_row(some_data(folder, count), 5, example(folder / "pipe.jpg", 96, 64))


def let_go(pipe: Path) -> None:
    """Whoever waits for somebody to open the pipe goes on."""
    os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))


def run(pipeline: Pipeline, epochs: int = 1) -> list[Batch]:
    with pipeline.batches(epochs=epochs) as batches:
        return list(batches)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[RunFolder]:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    probe.set_current(probe.Probe(folder))
    yield folder
    probe.set_current(None)


def events(folder: RunFolder) -> list[Event]:
    return read_folder(folder.path).all()


@pytest.mark.parametrize("how", ["truncated", "empty", "gone", "text", "no image"])
def test_a_bad_example_is_skipped_and_another_takes_its_place(tmp_path: Path, how: str) -> None:
    data = some_data(tmp_path)
    path = data.examples[5].image.path  # type: ignore[union-attr]
    if how == "no image":
        data = with_row(data, 5, replace(data.examples[5], image=None))
    elif how == "gone":
        path.unlink()
    else:
        path.write_bytes({"truncated": path.read_bytes()[:-200], "empty": b"", "text": b"<html>not found</html>"}[how])
    pipeline = Pipeline(data, SETTINGS)
    rows = [row for batch in run(pipeline, epochs=3) for row in batch.rows.tolist()]
    assert len(rows) == 36 and 5 not in rows and -1 not in rows
    assert list(pipeline.skipped.by_name) == ["005.jpg"]


def test_the_substitute_is_the_same_when_the_stream_is_continued(tmp_path: Path) -> None:
    data = some_data(tmp_path)
    broken(data, 5)
    whole = run(Pipeline(data, SETTINGS))
    for start in range(3):
        with Pipeline(data, SETTINGS).batches(0, start) as batches:
            for one, other in zip(whole[start:], batches, strict=True):
                assert one.rows.tolist() == other.rows.tolist() and np.array_equal(one.images, other.images)


def test_in_an_evaluation_its_place_stays_empty(tmp_path: Path) -> None:
    data = some_data(tmp_path)
    broken(data, 5)
    batches = run(Pipeline(data, replace(SETTINGS, for_training=False)))
    assert [batch.rows.tolist() for batch in batches] == [[0, 1, 2, 3], [4, -1, 6, 7], [8, 9, 10, 11]]
    assert (batches[1].images[1] == np.array(SETTINGS.fill_rgb)).all() and not batches[1].mask[1].any()


def test_a_bad_partner_in_a_mosaic_leaves_its_quarter_empty(tmp_path: Path) -> None:
    data = some_data(tmp_path)
    broken(data, 5)
    pipeline = Pipeline(data, replace(SETTINGS, augmentations=(Mosaic(),)))
    whole = run(pipeline, epochs=4)
    assert {row for batch in whole for row in batch.rows.tolist()} == set(range(12)) - {5}
    assert list(pipeline.skipped.by_name) == ["005.jpg"]


def test_one_alone_is_not_too_many_of_a_few_unless_none_is_allowed(tmp_path: Path) -> None:
    data = some_data(tmp_path)
    broken(data, 5)
    pipeline = Pipeline(data, replace(SETTINGS, max_bad_fraction=0.05))  # 1 of 12 is 8.3 %
    assert 5 not in {row for batch in run(pipeline, epochs=2) for row in batch.rows.tolist()}
    assert list(pipeline.skipped.by_name) == ["005.jpg"]
    with pytest.raises(InvalidInputError, match=r"1 of 12 examples could not be used, 8\.3%, more than max_bad_fraction=0\.0%"):
        run(Pipeline(data, replace(SETTINGS, max_bad_fraction=0.0)), epochs=2)


@pytest.mark.parametrize(
    ("of", "share", "most"), [(1, 0.05, 0.05), (2, 0.05, 1), (19, 0.05, 1), (100, 0.05, 5), (7, 1.0, 7), (100, 0.0, 0)]
)
def test_how_many_may_be_bad(of: int, share: float, most: float) -> None:
    assert compute_max_bad(of, share) == pytest.approx(most)


def test_too_many_bad_examples_end_the_run_and_are_named(tmp_path: Path) -> None:
    data = some_data(tmp_path)
    for row in (2, 5, 8):
        broken(data, row)
    before = threading.active_count()
    with pytest.raises(
        InvalidInputError, match=r"3 of 12 examples could not be used, 25\.0%, more than max_bad_fraction=20\.0%"
    ) as caught:
        run(Pipeline(data, SETTINGS), epochs=2)
    assert all(name in str(caught.value) for name in ("002.jpg", "005.jpg", "008.jpg"))
    assert threading.active_count() == before


def test_a_decompression_bomb_is_skipped_before_it_is_decoded(tmp_path: Path) -> None:
    data = some_data(tmp_path)
    pipeline = Pipeline(
        data_set([*data.examples[:11], *some_data(tmp_path / "..", 1, 400, 300).examples]), replace(SETTINGS, max_pixels=50_000)
    )
    run(pipeline)
    assert "400×300 pixels, more than the 50,000 that are allowed" in pipeline.skipped.by_name["000.jpg"]


def test_a_file_that_hangs_is_named_its_worker_replaced_and_the_run_goes_on(tmp_path: Path, journal: RunFolder) -> None:
    pipeline = Pipeline(with_pipe(tmp_path), replace(SETTINGS, prefetch_bytes=1))  # one batch at a time: one worker meets it
    with pipeline.batches(epochs=3) as batches:
        rows = [row for batch in batches for row in batch.rows.tolist()]
        measured = batches.measured()
    let_go(tmp_path / "pipe.jpg")
    assert len(rows) == 36 and 5 not in rows and -1 not in rows
    assert measured.replaced_workers == 1, "a file that hung once is not opened again"
    (replaced,) = [event for event in events(journal) if isinstance(event, WorkerReplaced)]
    assert (replaced.example, replaced.file) == ("pipe.jpg", str(tmp_path / "pipe.jpg"))
    assert replaced.why == "hung: longer than 0.4 s at one example" and replaced.seconds > 0.4
    (skipped,) = [event for event in events(journal) if isinstance(event, ExampleSkipped)]
    assert skipped.name == "pipe.jpg" and skipped.count == 1 and skipped.share == pytest.approx(1 / 12)


def test_a_worker_that_comes_back_late_changes_nothing(tmp_path: Path) -> None:
    """It writes its image into arrays that nobody reads any more."""
    expected_data = some_data(tmp_path)
    content = expected_data.examples[0].image.read()  # type: ignore[union-attr]
    before = set(threading.enumerate())
    pipeline = Pipeline(with_pipe(tmp_path), SETTINGS)
    with pipeline.batches(epochs=2) as batches:
        first = [next(batches) for _ in range(3)]
        copies = [batch.images.copy() for batch in first]
        # The hung worker goes on; it finds a file without a size, and may have closed it before it is written to.
        with suppress(BrokenPipeError), (tmp_path / "pipe.jpg").open("wb") as pipe:
            pipe.write(content)
        list(batches)
        assert all(np.array_equal(batch.images, copy) for batch, copy in zip(first, copies, strict=True))
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def test_storage_that_is_gone_ends_the_run(tmp_path: Path) -> None:
    data = some_data(tmp_path, 20)
    for item in data.examples:
        item.image.path.unlink()  # type: ignore[union-attr]
        os.mkfifo(item.image.path)  # type: ignore[union-attr]
    pipeline = Pipeline(data, replace(SETTINGS, max_bad_fraction=1.0, max_example_s=0.05))
    with pytest.raises(UnstallError, match=r"17 workers hung or died, so it is not single examples: is the storage there\?"):
        run(pipeline)
    for item in data.examples:
        let_go(item.image.path)  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_that_dies_is_named_and_replaced(tmp_path: Path, journal: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of something that no decoder raises."""
    original = ExampleMapper._opened

    def dies(self: ExampleMapper, row: int, *rest: object) -> object:
        if row == 5:
            raise SystemError("the interpreter is ill")
        return original(self, row, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(ExampleMapper, "_opened", dies)
    pipeline = Pipeline(some_data(tmp_path), SETTINGS)
    rows = [row for batch in run(pipeline, epochs=2) for row in batch.rows.tolist()]
    assert len(rows) == 24 and 5 not in rows
    assert pipeline.skipped.by_name == {"005.jpg": "its worker died: SystemError: the interpreter is ill"}
    assert [event.worker for event in events(journal) if isinstance(event, WorkerReplaced)] != []


def test_rows_that_are_never_to_be_used_leave_all_other_places_as_they_were(tmp_path: Path, journal: RunFolder) -> None:
    data = some_data(tmp_path)
    pipeline_settings = replace(SETTINGS, max_bad_fraction=0.0)
    usual = np.concatenate([batch.rows for batch in run(Pipeline(data, pipeline_settings), epochs=3)])
    without = np.concatenate([batch.rows for batch in run(Pipeline(data, pipeline_settings, never=(2, 7)), epochs=3)])
    is_other = np.isin(usual, (2, 7))
    assert is_other.sum() == 6 and not np.isin(without, (2, 7)).any()
    assert (without[~is_other] == usual[~is_other]).all()
    assert not read_folder(journal.path).of(ExampleSkipped)  # they are not bad
