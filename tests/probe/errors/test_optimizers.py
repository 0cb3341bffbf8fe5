"""The optimizer that refuses variables: for which it was built, which it is given, and where it was made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import keras, numpy
from unstall.probe.errors import makers

class Trainer:
    def __init__(self):
        self.first = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="one")])
        self.second = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="two")])
        self.optimizer = keras.optimizers.SGD(0.1)

    def step(self):
        for model in (self.first, self.second):
            zeros = [numpy.zeros(each.shape, "float32") for each in model.trainable_variables]
            self.optimizer.apply(zeros, model.trainable_variables)

try:
    Trainer().step()
except ValueError as error:
    (row,) = makers._optimizers(error.__traceback__)
    print(row["name"], row["count"], row["built_for"][0].split("/")[-2], row["given"][0].split("/")[-2], row["where"].rpartition(":")[2])
"""


def test_found_where_one_optimizer_is_given_the_variables_of_two_models(tmp_path: Path) -> None:
    pytest.importorskip("keras")
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    env = {**os.environ, "KERAS_BACKEND": "jax"}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.split() == ["SGD", "2", "one", "two", "9"]
