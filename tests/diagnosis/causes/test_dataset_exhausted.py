"""dataset_exhausted: the input ended before the steps that were asked for."""

from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, started, steps
from tests.diagnosis.real_programs import ended
from unstall.diagnosis.causes import dataset_exhausted
from unstall.diagnosis.verdict import Clear, Found, Unknown
from unstall.journal.events import ErrorRaised, FitBegan, InputDescribed, ProcessEnded, WarningShown

WARNED = WarningShown(
    at=T0 + 20, source="warnings", message="Your input ran out of data; interrupting training. Make sure that …"
)
SOURCE = InputDescribed(at=T0 + 4, kind="generator")


def fit(epochs: int | None = 5, steps_per_epoch: int | None = 100) -> FitBegan:
    return FitBegan(
        at=T0 + 5, api="keras", backend="jax", epochs=epochs, steps_per_epoch=steps_per_epoch, where=f"{FOLDER}/train.py:30"
    )


def test_found_with_the_steps_made_and_asked_for() -> None:
    verdict = dataset_exhausted.examine(journal(started(), SOURCE, fit(), steps(0, 129, at=19), WARNED))
    assert isinstance(verdict, Found)
    assert "130 steps have been made, and 500 were asked for" in verdict.summary
    assert verdict.where == "train.py:30"


def test_clear_where_keras_said_nothing() -> None:
    assert isinstance(dataset_exhausted.examine(journal(started(), SOURCE, fit(), steps(0, 129, at=19))), Clear)


def test_clear_where_all_steps_were_made_and_the_end_came_exactly() -> None:
    assert isinstance(dataset_exhausted.examine(journal(started(), SOURCE, fit(), steps(0, 499, at=19), WARNED)), Clear)


def test_clear_where_nobody_said_how_many_steps_there_should_be() -> None:
    assert isinstance(
        dataset_exhausted.examine(journal(started(), SOURCE, fit(steps_per_epoch=None), steps(0, 99, at=19), WARNED)), Clear
    )


def test_unknown_for_ones_own_loop() -> None:
    loop = FitBegan(at=T0 + 5, api="own_loop", backend="tensorflow")
    assert isinstance(dataset_exhausted.examine(journal(started(), loop, steps(0, 99, at=19))), Unknown)


VALIDATES_TOO_LONG = """
import time

import keras
import numpy
import tensorflow

rows = numpy.random.default_rng(0).random((64, 4), "float32")
data = tensorflow.data.Dataset.from_tensor_slices((rows, rows[:, :1])).batch(8)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
rests = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: time.sleep(3))
model.fit(data.repeat(), epochs=3, steps_per_epoch=8, validation_data=data, validation_steps=20, callbacks=[rests], verbose=0)
"""


@pytest.mark.tensorflow
def test_silent_where_a_real_validation_runs_out_and_the_training_goes_on(tmp_path: Path) -> None:
    story = ended(tmp_path, VALIDATES_TOO_LONG)
    assert story["progress"]["step"] == 23
    assert story["verdicts"] == [] and story["earlier"] == []


def ended_by(kind: str, message: str = "", code: int = 1, made: int = 128, is_own: bool = False) -> object:
    frames: Any = [
        {"function": "quick_execute", "file": "/x/site-packages/tensorflow/python/eager/execute.py", "line": 53, "module": ""},
        {"function": "<module>", "file": f"{FOLDER}/train.py", "line": 16, "module": ""},
    ][is_own:]
    error = ErrorRaised(at=T0 + 20, kind=kind, message=message, frames=frames, fatal=code != 0, thread="MainThread")
    own = FitBegan(at=T0 + 5, api="own_loop", backend="tensorflow", where=f"{FOLDER}/train.py:16")
    seen = [own, steps(0, 7, at=8), steps(8, made - 1, at=20.5)] if made else []  # the last steps are told after the error
    return dataset_exhausted.examine(journal(started(), *seen, error, ProcessEnded(at=T0 + 21, pid=1, exit_code=code)))


IN_GRAPH = f"""Graph execution error:

Detected at node IteratorGetNext defined at (most recent call last):
  File "{FOLDER}/train.py", line 16, in <module>

  File "{FOLDER}/train.py", line 10, in train_step

End of sequence
\t [[{{{{node IteratorGetNext}}}}]] [Op:__inference_train_step_694]"""


def test_found_where_a_loop_of_ones_own_asks_for_one_batch_too_many() -> None:
    in_graph = ended_by("tensorflow.python.framework.errors_impl.OutOfRangeError", IN_GRAPH)
    assert isinstance(in_graph, Found)
    assert in_graph.where == "train.py:10"
    assert "ended after 128 steps" in in_graph.summary
    for kind, message in (("StopIteration", ""), ("RuntimeError", "generator raised StopIteration")):
        eager = ended_by(kind, message)
        assert isinstance(eager, Found)
        assert eager.where == "train.py:16"


def test_an_end_that_the_program_caught_or_that_came_before_any_step_is_no_fault_of_the_input() -> None:
    caught = ended_by("tensorflow.python.framework.errors_impl.OutOfRangeError", IN_GRAPH, code=0)
    assert not isinstance(caught, Found)
    assert isinstance(ended_by("StopIteration", made=0), Clear)
    assert not isinstance(ended_by("RuntimeError", "something else"), Found)
    assert not isinstance(ended_by("StopIteration", is_own=True), Found)  # next(layer for layer in layers if …)
    assert not isinstance(
        ended_by("tensorflow.python.framework.errors_impl.OutOfRangeError", "Read less bytes than requested"), Found
    )
