"""Errors inside Python functions that TensorFlow calls: their lines and values are looked at before TensorFlow makes a text of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import json, sys, time, types
import numpy as np
import tensorflow as tf
from tensorflow.python.ops import script_ops
from unstall.probe.errors import python_functions

def generate():
    for path in ["a.png", "b.png", "c.png"]:
        image = np.zeros((4, 4) if path == "b.png" else (4, 4, 3), "float32")
        yield image

def read(name):
    table = {"a": 1}
    return np.int64(table[name.decode()])

def outer():
    yield from generate()

class Shield:
    def within_budget(self, name, function, *args):
        return function(*args)

probe = types.SimpleNamespace(extras={}, active=True, shield=Shield())
python_functions.install(script_ops, probe)
form = tf.TensorSpec((4, 4, 3), tf.float32)
kind = sys.argv[1]
if kind == "yield":
    data = tf.data.Dataset.from_generator(outer, output_signature=form).batch(2).prefetch(1)
elif kind == "function":
    names = tf.data.Dataset.from_tensor_slices(["a", "z"])
    data = names.map(lambda name: tf.numpy_function(read, [name], tf.int64))
else:
    data = tf.data.Dataset.from_generator(lambda: iter([1, 2]), output_signature=tf.TensorSpec((), tf.int32))
try:
    for _ in data:
        pass
except Exception as error:
    found = python_functions.find_seen(probe, error)
    print(json.dumps({"found": found, "message": str(error), "other": python_functions.find_seen(probe, ValueError("x"))}))
else:
    print(json.dumps({"kept": len(probe.extras["errors of python functions"])}))
"""


def run(tmp_path: Path, kind: str) -> Any:
    pytest.importorskip("tensorflow")
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, str(path), kind], capture_output=True, text=True, env=environment, timeout=240, check=False
    )
    assert done.stdout.strip(), done.stderr
    return json.loads(done.stdout)


@pytest.mark.tensorflow
def test_the_generator_of_a_refused_element_is_seen_at_its_yield(tmp_path: Path) -> None:
    seen = run(tmp_path, "yield")
    (row,) = seen["found"]["makers"]
    assert (row["what"], row["name"]) == ("generator", "generate")
    assert row["line"]["source"] == ["        yield image"]
    values = {value["name"]: value for value in row["line"]["values"]}
    assert values["image"]["shape"] == [4, 4]
    assert row["line"]["loops"][-1]["values"][0]["text"] == "'b.png'"
    assert seen["other"] == {}


@pytest.mark.tensorflow
def test_the_lines_of_a_function_are_seen_with_their_values_and_the_message_stays_as_it_was(tmp_path: Path) -> None:
    seen = run(tmp_path, "function")
    line = seen["found"]["lines"][-1]
    assert line["function"] == "read"
    assert {value["name"]: value.get("keys") for value in line["values"]}["table"] == ["a"]
    assert "python_functions" not in seen["message"]


@pytest.mark.tensorflow
def test_nothing_is_kept_where_nothing_fails(tmp_path: Path) -> None:
    assert run(tmp_path, "none") == {"kept": 0}
