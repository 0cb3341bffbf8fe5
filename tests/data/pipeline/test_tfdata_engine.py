"""The tf.data engine gives the very same batches, in TensorFlow's hands. One program for all: TensorFlow takes long to start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tensorflow
ROOT = Path(__file__).parents[3]
BEGIN = """
import sys, threading
from dataclasses import replace
from pathlib import Path
import numpy as np
from tests.data.pipeline.pictures import some_data, example, data_set
from unstall.data.augment.augmentations import Mosaic
from unstall.data.augment.augmentations import SSD
from unstall.data.pipeline import Pipeline, PipelineSettings
from unstall.base.errors import InvalidInputError

def fresh(number):
    folder = Path(sys.argv[1]) / str(number)
    folder.mkdir()
    return folder, some_data(folder, 17), SETTINGS

SETTINGS = PipelineSettings(batch_size=4, height_px=64, width_px=80, augmentations=(Mosaic(probability=0.3), *SSD), seed=5, num_input_workers=2)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each part of the program printed. The last leaves a thread behind that hangs."""
    folder = tmp_path_factory.mktemp("engine")
    parts = (SAME, INSIDE, BOUNDED, HANGS)
    path = folder / "program.py"  # not -c: AutoGraph needs the source
    programs = (f"print('---')\nfolder, data, pipeline_settings = fresh({number}){part}" for number, part in enumerate(parts))
    path.write_text(BEGIN + "".join(programs))
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    command = [sys.executable, str(path), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(zip(parts, done.stdout.split("---\n")[1:], strict=True))


SAME = """
for epoch, step in ((0, 0), (1, 2)):
    with Pipeline(data, pipeline_settings).batches(epoch, step, 2) as one, Pipeline(data, replace(pipeline_settings, engine="tf.data")).batches(epoch, step, 2) as other:
        pairs = list(zip(one, other, strict=True))
        print(len(pairs), other.measured().engine, other.measured().examples)
    for a, b in pairs:
        assert (a.epoch, a.step) == (b.epoch, b.step)
        for name, array in a.arrays().items():
            assert array.dtype == b.arrays()[name].dtype and np.array_equal(array, b.arrays()[name]), name
"""


def test_both_engines_give_the_same_bytes_from_any_step(said: dict[str, str]) -> None:
    assert said[SAME].splitlines() == ["8 tf.data 32", "6 tf.data 24"]


INSIDE = """
import tensorflow as tf
dataset = Pipeline(data, pipeline_settings).dataset()
assert dataset.element_spec["images"] == tf.TensorSpec((4, 64, 80, 3), tf.uint8)
assert int(dataset.cardinality()) == 4

@tf.function
def total(dataset):
    result = tf.constant(0, tf.int64)
    for batch in dataset:
        result += tf.reduce_sum(tf.cast(batch["images"], tf.int64))
    return result

expected = sum(int(batch.images.astype(np.int64).sum()) for batch in Pipeline(data, pipeline_settings).batches())
print(int(total(dataset)) == expected, int(total(dataset)) == expected)
"""


def test_a_dataset_trains_inside_the_graph_and_can_be_iterated_again(said: dict[str, str]) -> None:
    assert said[INSIDE] == "True True\n"


BOUNDED = """
import time
from unstall.data.pipeline.thread_pool import Worker
from unstall.data.pipeline.tfdata_engine import HELD_BY_TENSORFLOW
pipeline_settings = replace(pipeline_settings, engine="tf.data")
batches = Pipeline(data, pipeline_settings).batches(epochs=None)
for _ in range(20):  # as fast as they come: TensorFlow would like to hold more of them
    next(batches)
time.sleep(0.5)
print(0 <= batches.measured().batches - 20 <= HELD_BY_TENSORFLOW)
workers = [thread for thread in threading.enumerate() if isinstance(thread, Worker)]
batches.close()
for worker in workers:
    worker.join(10)
print(len(workers), any(worker.is_alive() for worker in workers))
for path in folder.glob("00*.jpg"):
    path.write_bytes(b"")
try:
    list(Pipeline(data, pipeline_settings).batches())
except InvalidInputError as error:
    print(str(error).splitlines()[0])
"""


def test_what_is_held_is_bounded_errors_arrive_as_raised_and_closing_ends_the_threads(said: dict[str, str]) -> None:
    is_bounded, first, second = said[BOUNDED].splitlines()
    assert is_bounded == "True"
    assert first == "2 False"
    assert "of 17 examples could not be used" in second


HANGS = """
import os
os.mkfifo(folder / "pipe.jpg")
data = data_set([*data.examples[:15], example(folder / "pipe.jpg", 96, 64)])
pipeline = Pipeline(data, replace(pipeline_settings, engine="tf.data", max_example_s=0.5, max_bad_fraction=0.2))
rows = [row for batch in pipeline.batches(epochs=2) for row in batch.rows.tolist()]
print(len(rows), 15 in rows, list(pipeline.skipped.by_name))
"""


def test_a_file_that_hangs_is_replaced_here_too_and_the_program_ends(said: dict[str, str]) -> None:
    assert said[HANGS] == "32 False ['pipe.jpg']\n"
