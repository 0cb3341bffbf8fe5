"""What the probe tells of a real training in numbers, on each backend: model, weights, batches, and the step that broke the loss.

One program for each backend, which trains several models after each other; a test looks at what was told during one of them.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from tests.probe.watched_programs import facts, line, watch
from tests.programs import UNSTALL, write
from unstall.journal.events import BatchSampled, LoopSeen, ModelDescribed, ProbeFailed, SignalsSeen, WeightsSampled
from unstall.journal.reader import Journal, read_folder

BACKENDS = [
    pytest.param("tensorflow", marks=pytest.mark.tensorflow),
    pytest.param("jax", marks=pytest.mark.jax),
    pytest.param("torch", marks=pytest.mark.torch),
    pytest.param("tf_keras", marks=pytest.mark.tensorflow),
]
BEGIN = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
if {backend!r} == "tf_keras":
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tf_keras as keras
else:
    os.environ["KERAS_BACKEND"] = {backend!r}
    import keras
import numpy as np
layers = keras.layers
rng = np.random.default_rng(1)
x = rng.normal(size=(640, 12)).astype("float32")
y = rng.integers(0, 4, 640)
"""
FIT = """
model = keras.Sequential([keras.Input((12,)), layers.Dense(32, activation="relu", name="hidden"), layers.Dense(4, name="scores")])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.Adam(0.003), loss=loss)
model.fit(x, y, batch_size=32, epochs=3, verbose=0)
"""
BROKEN = """
x[17 * 32 + 3, 5] = np.nan
model = keras.Sequential([keras.Input((12,)), layers.Dense(8, activation="tanh"), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(x, x[:, :1] * 0, batch_size=32, epochs=2, shuffle=False, verbose=0)
"""
TF_DATA = """
import tensorflow as tf
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).map(lambda a, b: (a * 100.0, b)).prefetch(2)
model = keras.Sequential([keras.Input((12,)), layers.Dense(4, activation="softmax")])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
other_x, other_y = np.zeros((320, 12), "float32"), np.zeros(320, "int64")
model.evaluate(other_x, other_y, verbose=0)
model.predict(other_x, verbose=0)
model.fit(dataset, epochs=3, verbose=0)
"""
WEIGHTED = """
model = keras.Sequential([keras.Input((12,)), layers.Dense(4, activation="softmax")])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(x, y, batch_size=32, class_weight={0: 1.0, 1: 5.0, 2: 1.0, 3: 0.2}, epochs=1, verbose=0)
"""
OWN_MODEL = """
class Classifier(keras.Model):
    def __init__(self):
        super().__init__()
        self.scores = layers.Dense(4)

    def call(self, inputs):
        return self.scores(inputs)

model = Classifier()
model.compile(optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy())
model.fit(x, y, batch_size=32, epochs=2, verbose=0)
"""
LOOP = """
import tensorflow as tf
model = keras.Sequential([keras.Input((12,)), layers.Dense(8, activation="tanh"), layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.5)
@tf.function
def train_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.math.log(model(batch)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
for batch in tf.data.Dataset.from_tensor_slices(x).batch(32).repeat(3):
    train_step(batch)
"""


SAY_WHEN = "print(time.time(), flush=True)\n"


@dataclass(frozen=True)
class WatchedProgram:
    """What was told during each of the trainings of a program, by its source."""

    program: Path
    journals: dict[str, Journal]


@cache
def watch_program(folder: Path, backend: str, *sources: str) -> WatchedProgram:
    """The folder is that of the session: a program runs once, however many tests look at it."""
    (own := folder / f"{backend}-{len(sources)}").mkdir()
    program = write(own, BEGIN.format(backend=backend) + "".join(SAY_WHEN + source for source in sources))
    home = own / "runs"
    command = [*UNSTALL, "run", "--quiet", "--", sys.executable, str(program)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=250, env={**os.environ, "UNSTALL_HOME": str(home)}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    journal = read_folder(next(home.iterdir()))
    assert journal.of(ProbeFailed) == []
    begins = [*map(float, done.stdout.split()), float("inf")]
    parts = (Journal([event for event in journal.all() if begin <= event.at < end]) for begin, end in pairwise(begins))
    return WatchedProgram(program, dict(zip(sources, parts, strict=True)))


@pytest.fixture
def trained(tmp_path_factory: pytest.TempPathFactory, backend: str) -> WatchedProgram:
    """The loss that broke comes last, as nothing is healthy after it. JAX gives a loss no values to look at."""
    sources = (FIT, TF_DATA, WEIGHTED, BROKEN) if backend == "jax" else (FIT, TF_DATA, WEIGHTED, OWN_MODEL, BROKEN)
    return watch_program(tmp_path_factory.getbasetemp(), backend, *sources)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fit_on_arrays(trained: WatchedProgram) -> None:
    journal = trained.journals[FIT]
    described = journal.of(ModelDescribed)[-1].facts
    assert described["compiled_at"].endswith(f":{line_of(trained, 'loss=loss')}")
    assert described["entry"] == ["Dense"]
    assert [layer["activation"] for layer in described["layers"]] == ["relu", "linear"]
    assert described["outputs"][0]["units"] == 4
    assert described["losses"][0] == {
        "name": "sparsecategoricalcrossentropy", "from_logits": True, "ignore_class": None, "label_smoothing": 0.0,
    }  # fmt: skip
    assert described["optimizer"] == "Adam"
    labels = next(facts for facts in journal.of(BatchSampled)[-1].facts["arrays"] if facts["role"] == "y")
    assert (labels["min"], labels["max"], labels["whole"]) == (0.0, 3.0, True)
    first = journal.of(WeightsSampled)[0]
    hidden = next(weight for weight in first.facts["weights"] if "hidden" in weight["name"] and len(weight["shape"]) == 2)
    assert first.step == 1
    assert first.facts["learning_rate"] == pytest.approx(0.003)
    assert hidden["step"] == pytest.approx(0.003, rel=0.1), "Adam's first step moves every weight by the rate"
    assert hidden["gradient"] is not None and 0 < hidden["gradient"] < 1
    assert hidden["units"] == 32


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_step_that_broke_the_loss_and_the_row_that_did_it(trained: WatchedProgram) -> None:
    journal = trained.journals[BROKEN]
    broke = next(event.facts for event in journal.of(LoopSeen) if event.facts["kind"] == "not_finite")
    assert (broke["step"], broke["exact"], broke["value"], broke["last_step"]) == (17, True, "nan", 16)
    searched = next(event.facts for event in journal.of(BatchSampled) if event.facts["source"] == "searched arrays")
    assert [(facts["role"], facts["first_bad_row"]) for facts in searched["arrays"]] == [("x", 17 * 32 + 3)]
    ruined = [weight for weight in journal.of(WeightsSampled)[-1].facts["weights"] if weight.get("not_finite")]
    assert ruined


@pytest.mark.parametrize("backend", BACKENDS)
def test_batches_of_tf_data(trained: WatchedProgram) -> None:
    """On TensorFlow they never pass through Python."""
    journal = trained.journals[TF_DATA]
    inputs = [facts for event in journal.of(BatchSampled) for facts in event.facts["arrays"] if facts["role"] == "x"]
    assert inputs
    assert all(50 < facts["rms"] < 200 for facts in inputs), "as the map made them; not those that were only predicted before"


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_level_of_guessing_is_that_of_this_fit(trained: WatchedProgram) -> None:
    """Not by the labels of an evaluation before it, and none where weights decide what guessing gives."""
    levels = {source: _levels(journal) for source, journal in trained.journals.items()}
    assert levels[FIT] == [pytest.approx(math.log(4), abs=0.01)]
    assert levels[TF_DATA][:1] == [pytest.approx(math.log(4))]
    assert levels[WEIGHTED] == []


def _levels(journal: Journal) -> list[float]:
    return [event.facts["level"] for event in journal.of(LoopSeen) if event.facts["kind"] == "guessing"]


@pytest.mark.parametrize("backend", [BACKENDS[0], BACKENDS[2], BACKENDS[3]])
def test_what_a_loss_is_given_by_a_model_class_of_ones_own(trained: WatchedProgram) -> None:
    journal = trained.journals[OWN_MODEL]
    called = next(event.facts for event in journal.of(LoopSeen) if event.facts["kind"] == "loss_called")
    assert (called["name"], called["from_logits"], called["shape"][-1]) == ("sparsecategoricalcrossentropy", False, 4)
    assert called["made_by"] == "BiasAdd" or called["least"] < 0


@pytest.mark.tensorflow
def test_ones_own_loop(tmp_path_factory: pytest.TempPathFactory) -> None:
    looped = watch_program(tmp_path_factory.getbasetemp(), "tensorflow", LOOP)
    journal = looped.journals[LOOP]
    described = journal.of(ModelDescribed)[-1].facts
    assert described["own_loop"] is True
    assert [place["what"] for place in described["risky"]] == ["a logarithm"]
    assert described["risky"][0]["where"].endswith(f":{line_of(looped, 'tf.math.log')}")
    assert described["applied_at"].endswith(f":{line_of(looped, 'apply_gradients')}")
    broke = next(event.facts for event in journal.of(LoopSeen) if event.facts["kind"] == "not_finite")
    assert broke["step"] == 0
    assert journal.of(WeightsSampled)


def line_of(result: WatchedProgram, text: str) -> int:
    return next(number for number, line in enumerate(result.program.read_text().splitlines(), 1) if text in line)


LEGACY = """
import os, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tf_keras as keras
"""


@pytest.mark.tensorflow
def test_the_rate_of_the_optimizers_that_keras_2_had_up_to_2_10_and_the_loss_that_guessing_gives(
    tmp_path: Path, own_home: Path
) -> None:
    journal = watch(
        """
        model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
        model.compile(keras.optimizers.legacy.SGD(0.0), "mse")  # MADE
        slow = keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: time.sleep(0.07))
        labels = np.linspace(0, 1, 640, dtype="float32")[:, None]
        model.fit(np.ones((640, 3), "float32"), labels, batch_size=8, verbose=0, callbacks=[slow])
        """,
        tmp_path,
        own_home,
        preamble=LEGACY,
    )
    (guessing,) = facts(journal, "guessing")
    assert (guessing["loss"], guessing["labels"], round(guessing["level"], 3)) == ("squares", 640, 0.084)
    (seen, *_) = facts(journal, "weights")
    assert (seen["learning_rate"], seen["applied"]) == (0, True)
    assert seen["learning_rate_at"] == line(tmp_path, "MADE")
    assert journal.of(WeightsSampled)[-1].facts["learning_rate"] == 0
    assert journal.of(SignalsSeen)[-1].not_seen == {}
