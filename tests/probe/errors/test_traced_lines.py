"""The lines of functions that AutoGraph has rewritten, with the values that they had, and the layers in the names of nodes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from unstall.probe.errors import makers, traced_lines

PROGRAM = """
import json, os, time
import tensorflow as tf
from unstall.probe.errors import traced_lines

def with_label(path, offset=3):
    words = {"cat": 0}
    if offset > 2:
        name = os.path.basename(path)
    return name

@tf.function
def step(x):
    return mix(x, 2)

def mix(left, right):
    other = tf.ones((5,))
    return left + other

for call in (lambda: tf.data.Dataset.from_tensor_slices(["a/b"]).map(with_label), lambda: step(tf.ones((4,)))):
    try:
        call()
    except Exception as error:
        print(json.dumps(traced_lines.inspect_lines(error, time.monotonic() + 30)))
"""


def test_an_error_without_traced_lines_has_none() -> None:
    assert traced_lines.inspect_lines(ValueError('File "train.py", line 3, in step'), time.monotonic() + 30) == []


@pytest.mark.tensorflow
def test_the_lines_have_the_values_of_the_rewritten_functions(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment, timeout=240, check=False)
    first, second = (json.loads(line) for line in done.stdout.strip().splitlines())
    assert [(row["line"], row["function"]) for row in first] == [(9, "with_label")], done.stderr
    assert {value["name"]: value["type"] for value in first[0]["values"]}["path"].endswith("Tensor")
    assert [(row["line"], row["function"]) for row in second] == [(14, "step"), (18, "mix")]
    values = {value["name"]: value for value in second[1]["values"]}
    assert (values["left"]["shape"], values["other"]["shape"]) == ([4], [5])
    assert values["other"]["made_at"] == 17
    assert [value["name"] for value in second[1]["arguments"]] == ["right"]


@pytest.mark.parametrize(
    ("names", "node", "found"),
    [
        (["sequential", "embedding"], "sequential_1/embedding_1/GatherV2", ["embedding"]),
        (["conv2d", "conv2d_1"], "sequential_1/conv2d_1/convolution", []),  # which of the two is not known
        (["stem", "conv2d"], "functional/stem/Conv2D", ["stem"]),
        (["lstm"], "lstm", ["lstm"]),
    ],
)
def test_the_layer_in_the_name_of_a_node(names: list[str], node: str, found: list[str]) -> None:
    rows: dict[str, dict[str, Any]] = {
        name: {"what": "layer", "name": name, "class": "Layer", "where": "a.py:1"} for name in names
    }
    probe: Any = types.SimpleNamespace(extras={"layers made": rows})
    assert [row["name"] for row in makers._layers_named(probe, f"Detected at node {node} defined at")] == found
