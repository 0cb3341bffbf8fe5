"""Threads end with their iterator, a program ends though batches are being made, and a fork is refused in words."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.data.pipeline.pictures import data_set, example, some_data
from unstall.base.errors import UnstallError
from unstall.data.pipeline import Pipeline, PipelineSettings
from unstall.data.pipeline.thread_pool import Worker, _thread_pools
from unstall.data.pipeline.threads_engine import MAX_AHEAD, Batches
from unstall.journal.events import InputMeasured
from unstall.journal.reader import read_folder
from unstall.journal.run_folder import RunFolder
from unstall.probe.core import probe

SETTINGS = PipelineSettings(batch_size=4, height_px=64, width_px=80, num_input_workers=3)
PROGRAM = """
import os, sys
from pathlib import Path
from tests.data.pipeline.pictures import some_data, example, data_set
from unstall.data.pipeline import Pipeline, PipelineSettings

folder = Path(sys.argv[1])
data = some_data(folder, 40, 1200, 900)
if {hangs}:
    os.mkfifo(folder / "pipe.jpg")
    data = data_set([*data.examples[:20], example(folder / "pipe.jpg", 9, 9)])
batches = Pipeline(data, PipelineSettings(batch_size=4, height_px=640, width_px=640, num_input_workers=4, max_example_s=1)).batches(epochs=None)
next(batches)
print("one")
{end}
"""


@pytest.fixture(autouse=True)
def before() -> set[threading.Thread]:
    """What runs already: other tests leave workers hanging in pipes."""
    return set(threading.enumerate())


def own_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    return [thread for thread in set(threading.enumerate()) - before if isinstance(thread, Worker)]


def all_end(threads: list[threading.Thread]) -> bool:
    for thread in threads:
        thread.join(10)
    return not any(thread.is_alive() for thread in threads)


def test_closing_early_ends_the_threads(tmp_path: Path, before: set[threading.Thread]) -> None:
    batches = Pipeline(some_data(tmp_path), SETTINGS).batches(epochs=None)
    next(batches)
    threads = own_threads(before)
    assert len(threads) == 3
    batches.close()
    batches.close()
    assert all_end(threads)
    with pytest.raises(StopIteration):
        next(batches)


def test_letting_an_iterator_go_ends_the_threads(tmp_path: Path, before: set[threading.Thread]) -> None:
    batches = Pipeline(some_data(tmp_path), SETTINGS).batches(epochs=None)
    next(batches)
    threads = own_threads(before)
    del batches
    gc.collect()
    assert all_end(threads)


def test_an_iterator_that_is_at_its_end_has_no_threads(tmp_path: Path, before: set[threading.Thread]) -> None:
    batches = Pipeline(some_data(tmp_path), SETTINGS).batches()
    threads = own_threads(before)
    assert len(threads) == 3 and len(list(batches)) == 3
    assert all_end(threads)


def test_workers_that_compute_are_waited_for_at_the_end(tmp_path: Path, before: set[threading.Thread]) -> None:
    """A thread in native code must not come back into an interpreter that is gone."""
    settings = PipelineSettings(batch_size=4, height_px=640, width_px=640, num_input_workers=4)
    batches = Pipeline(some_data(tmp_path, 40, 1200, 900), settings).batches(epochs=None)
    next(batches)
    workers = own_threads(before)
    (pool,) = [each for each in list(_thread_pools) if set(each._workers) & set(workers)]
    pool.close()
    pool.wait_while_working(240.0)
    assert workers and not any(worker.is_alive() for worker in workers)


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("end", ["", "sys.exit(0)", "del batches"])
def test_a_program_ends_at_once_though_workers_are_busy_or_hang(tmp_path: Path, end: str, hangs: bool) -> None:
    program = PROGRAM.format(end=end, hangs=hangs)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\n", "")


def test_an_error_of_the_program_is_shown_and_nothing_else(tmp_path: Path) -> None:
    program = PROGRAM.format(end="raise ValueError('of the program')", hangs=False)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 1 and done.stderr.endswith("ValueError: of the program\n") and "unstall" not in done.stderr


def test_a_forked_child_is_told_to_ask_for_its_own(tmp_path: Path) -> None:
    pipeline = Pipeline(some_data(tmp_path), SETTINGS)
    batches = pipeline.batches(epochs=None)
    next(batches)
    child = os.fork()
    if not child:
        try:
            next(batches)
        except UnstallError as error:
            batches.close()
            with pipeline.batches() as own:  # what was made before the fork can be used after it
                os._exit(7 if "after the fork" in str(error) and len(list(own)) == 3 else 1)
        os._exit(2)
    for _ in range(300):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
    assert os.waitstatus_to_exitcode(status) == 7
    assert len([next(batches) for _ in range(5)]) == 5  # the parent's go on
    batches.close()


def test_what_it_did_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    monkeypatch.setattr(probe, "_current", probe.Probe(folder))
    with Pipeline(some_data(tmp_path), SETTINGS).batches(epochs=2) as batches:
        list(batches)
        batches.moved(0.25)
        measured = batches.measured()
    assert (measured.batches, measured.examples, measured.workers, measured.transfer_s) == (6, 24, 3, 0.25)
    assert measured.read_bytes == 2 * sum(path.stat().st_size for path in tmp_path.glob("*.jpg"))
    assert min(measured.read_s, measured.decode_s, measured.augment_s, measured.batch_s) > 0
    assert str(measured).startswith("24 examples in ") and "3 workers" in str(measured)
    (event,) = read_folder(folder.path).of(InputMeasured)
    assert (event.engine, event.epoch, event.step, event.examples) == ("threads", 1, 2, 24)
    assert 0 < event.decode_s <= measured.decode_s


def test_the_batches_held_are_bounded_by_bytes_and_by_number(tmp_path: Path) -> None:
    one = 4 * (64 * 80 * 3 + 100 * 23)
    for most, prefetch_bytes in ((1, 1), (1, 2 * one - 1), (5, 5 * one), (MAX_AHEAD, 10_000 * one)):
        pipeline_settings = PipelineSettings(batch_size=4, height_px=64, width_px=80, prefetch_bytes=prefetch_bytes)
        with Pipeline(some_data(tmp_path, 40), pipeline_settings).batches(epochs=None) as batches:
            next(batches)
            measured = batches.measured()
        assert (measured.max_ready_batches, measured.held_bytes) == (most, most * one)


def test_a_batch_that_is_not_begun_has_no_memory(tmp_path: Path) -> None:
    """A file that hangs its only worker: of five batches ahead one is being made."""
    data = some_data(tmp_path, 20)
    pipe = tmp_path / "pipe.jpg"
    os.mkfifo(pipe)
    data = data_set([example(pipe, 96, 64), *data.examples[1:]])
    pipeline_settings = PipelineSettings(
        batch_size=4, height_px=64, width_px=80, num_input_workers=1, for_training=False, prefetch_bytes=2**20
    )
    batches = Pipeline(data, pipeline_settings).batches()
    assert isinstance(batches, Batches) and batches.measured().max_ready_batches > 5
    until = time.monotonic() + 240
    while not batches._canvases._owners and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)
    assert len(batches._canvases._owners) == 1
    os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))  # whoever waits for somebody to open it goes on
    batches.close()
