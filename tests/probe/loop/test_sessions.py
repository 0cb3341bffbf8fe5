"""Steps and losses of sessions: TensorFlow 1, and `tf.compat.v1` of today."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.programs import UNSTALL, write
from unstall.journal.events import CheckpointSaved, FitBegan, ProbeFailed
from unstall.journal.reader import Journal, read_folder

pytestmark = pytest.mark.tensorflow
GRAPH = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
features = np.random.RandomState(0).normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2
x, y = tf.placeholder(tf.float32, (None, 8)), tf.placeholder(tf.float32, (None, 1))
kernel = tf.get_variable("kernel", (8, 1))
error = tf.square(x @ kernel - y)
accuracy = tf.reduce_mean(tf.cast(error < 0.1, tf.float32), name="accuracy")
loss = tf.reduce_mean(error, name="total_loss")
step = tf.train.get_or_create_global_step()
train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, step)
with tf.control_dependencies([train]):
    averaged = tf.train.ExponentialMovingAverage(0.9).apply([kernel])
def feed(number):
    at = 32 * (number % 20)
    return {x: features[at:at + 32], y: labels[at:at + 32]}
"""


def watched(source: str, folder: Path, home: Path) -> tuple[dict[str, Any], Journal, str]:
    text = folder / "story.json"
    program = write(folder, GRAPH + textwrap.dedent(source))
    command = [*UNSTALL, "run", "--quiet", "--json", str(text), "--", sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=480)
    assert done.returncode == 0, done.stderr
    (run,) = home.iterdir()
    journal = read_folder(run)
    assert not journal.of(ProbeFailed), journal.of(ProbeFailed)
    return json.loads(text.read_text()), journal, done.stdout


def test_steps_and_the_loss_among_other_scalars(tmp_path: Path, own_home: Path) -> None:
    story, journal, printed = watched(
        """
        import tempfile
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for number in range(300):
                result = session.run({"train": averaged, "scores": [accuracy, loss], "step": step}, feed(number))
                if number % 50 == 0:
                    session.run(loss, feed(0))
            tf.train.Saver().save(session, tempfile.mkdtemp() + "/model.ckpt")
        print(sorted(result), result["step"])
        """,
        tmp_path,
        own_home,
    )
    assert printed == "['scores', 'step', 'train'] 300\n"
    assert (story["state"], story["verdicts"], story["progress"]["step"]) == ("done", [], 299)
    assert [save.path.rpartition("/")[2] for save in journal.of(CheckpointSaved)] == ["model.ckpt"]
    (row,) = story["not_seen"]
    assert (row["framework"], row["signals"]) == ("TensorFlow", ["gradients", "weights", "learning rate"])
    assert story["numerics"]["first_loss"] > 1.0 > story["numerics"]["last_loss"]


def test_a_loss_that_is_no_number(tmp_path: Path, own_home: Path) -> None:
    story, _, _ = watched(
        """
        features[330, 3] = np.nan
        with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(300)]) as session:
            while not session.should_stop():
                session.run([train, loss], feed(session.run(step)))
        """,
        tmp_path,
        own_home,
    )
    assert [verdict["cause"] for verdict in story["verdicts"]] == ["loss_not_finite"]
    assert story["progress"]["step"] == 299


def test_an_evaluation_is_no_training(tmp_path: Path, own_home: Path) -> None:
    _, journal, _ = watched(
        """
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for number in range(100):
                session.run([loss, accuracy], feed(number))
        """,
        tmp_path,
        own_home,
    )
    assert not journal.of(FitBegan)
