"""Keras 2 under the names that it had in its time: with old versions of TensorFlow, in environments of their own.

They are taken from the folder in the variable UNSTALL_OLD_STACKS, where each environment is a folder with bin/python in it:

python3.8 -m venv "$UNSTALL_OLD_STACKS/2.4.1"
"$UNSTALL_OLD_STACKS/2.4.1/bin/pip" install tensorflow-cpu==2.4.1 "protobuf<3.21" "numpy<1.20"
"""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.probe.watched_programs import line
from tests.programs import UNSTALL, write
from unstall.journal.events import EpochEnded, FitBegan, InputDescribed, ProbeFailed
from unstall.journal.reader import Journal, read_folder

FOLDER = os.environ.get("UNSTALL_OLD_STACKS", "")
PYTHONS = [str(path) for path in sorted(Path(FOLDER).glob("*/bin/python"))] if FOLDER else []
pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(not PYTHONS, reason="UNSTALL_OLD_STACKS names no folder with environments of old versions of TensorFlow"),
]
each_stack = pytest.mark.parametrize("python", PYTHONS or [""])
PREAMBLE = """
import os, socket
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
try:
    import keras
except ImportError:
    import tensorflow as tf
    keras = tf.keras
x = np.random.RandomState(0).normal(size=(640, 8)).astype("float32")
y = x[:, :1] * 2
layers = [keras.layers.Dense(4, input_shape=(8,)), keras.layers.Dense(1)]
model = keras.models.Sequential(layers)
model.compile(loss="mse", optimizer="sgd")
fit = model.fit_generator if keras.__version__ < "2.4" else model.fit
def batches(begin=lambda number: None):
    for number in range(1000):
        begin(number)
        at = 32 * (number % 20)
        yield x[at:at + 32], y[at:at + 32]
"""


def watched(python: str, source: str, folder: Path, home: Path, *options: str) -> tuple[dict[str, Any], Journal]:
    program = write(folder, PREAMBLE + textwrap.dedent(source))
    text = folder / "told.json"
    command = [*UNSTALL, "run", "--quiet", *options, "--json", str(text), "--", python, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert text.exists(), done.stderr
    (run,) = home.iterdir()
    journal = read_folder(run)
    failures = [event for event in journal.of(ProbeFailed) if event.probe != "pipeline measure"]
    assert not failures, failures
    return json.loads(text.read_text()), journal


@each_stack
def test_a_healthy_fit_is_counted_and_called_well(python: str, tmp_path: Path, own_home: Path) -> None:
    story, journal = watched(
        python, "fit(batches(), steps_per_epoch=20, epochs=3, verbose=0, validation_data=(x, y))", tmp_path, own_home
    )
    assert (story["state"], story["verdicts"], story["progress"]["step"]) == ("done", [], 59)
    assert story["numerics"]["first_loss"] > story["numerics"]["last_loss"]
    (fit,) = journal.of(FitBegan)
    assert (fit.api, fit.backend, fit.epochs, fit.steps_per_epoch) == ("keras", "tensorflow", 3, 20)
    assert len(journal.of(EpochEnded)) == 3


@each_stack
def test_a_batch_of_nan_is_found(python: str, tmp_path: Path, own_home: Path) -> None:
    source = "x[320:352, 3] = np.nan\nmodel.fit(x, y, batch_size=32, epochs=2, verbose=0, shuffle=False)"
    story, _ = watched(python, source, tmp_path, own_home)
    assert [verdict["cause"] for verdict in story["verdicts"]] == ["loss_not_finite"]
    assert story["progress"]["step"] == 39


@each_stack
def test_a_generator_that_waits_for_a_socket_is_found(python: str, tmp_path: Path, own_home: Path) -> None:
    source = """
        near, far = socket.socketpair()
        def read_label(number):
            if number == 40:
                near.recv(1)  # never comes
        fit(batches(read_label), steps_per_epoch=20, epochs=9, verbose=0)
    """
    story, _ = watched(python, source, tmp_path, own_home, "--on-stall", "stop")
    (verdict,) = story["verdicts"]
    assert verdict["cause"] == "generator_blocked"
    assert verdict["where"] == line(tmp_path, "never comes")
    assert story["progress"]["step"] == 39


@each_stack
def test_where_the_input_comes_from(python: str, tmp_path: Path, own_home: Path) -> None:
    _, journal = watched(python, "fit(batches(), steps_per_epoch=20, epochs=1, verbose=0)", tmp_path, own_home)
    if _keras(python) < (2, 4):
        pytest.skip("Keras up to 2.3 has no data adapters that could be asked")
    (described,) = journal.of(InputDescribed)
    assert described.kind == "generator" and described.role == "train"


def _keras(python: str) -> tuple[int, ...]:
    show = "try:\n import keras\nexcept ImportError:\n from tensorflow import keras\nprint(keras.__version__)"
    version = subprocess.run([python, "-c", show], capture_output=True, text=True, check=True).stdout.split()[-1]
    return tuple(int(part) for part in version.split("-")[0].split(".")[:2])


@each_stack
def test_a_function_that_is_traced_in_every_step_is_named_with_what_changes(python: str, tmp_path: Path, own_home: Path) -> None:
    story, journal = watched(
        python,
        """
        import time, tensorflow as tf
        if tf.__version__ < "2":
            raise SystemExit
        weight = tf.Variable(1.0)

        @tf.function
        def step(values, scale):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((values * weight - 1.0) ** 2) + 0.0 * scale
            weight.assign_sub(0.01 * tape.gradient(loss, weight))
            return loss

        for number in range(600):
            step(tf.constant(x[:32]), float(number))  # RETRACED
            time.sleep(0.002)
        """,
        tmp_path,
        own_home,
    )
    if not journal.of(FitBegan):
        pytest.skip("TensorFlow 1 has no tf.function")
    assert [verdict["cause"] for verdict in story["verdicts"]] == ["function_retracing"]
    assert any("value of `scale`" in evidence["claim"] for evidence in story["verdicts"][0]["evidence"])
    assert not any("function traces" in row["signals"] for row in story["not_seen"])
