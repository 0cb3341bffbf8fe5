"""What is recorded of a model that lives in a graph of TensorFlow 1, where shapes and numbers are wrapped."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json
import numpy as np
import tensorflow as tf
import tf_keras
from unstall.probe.model import record as model_record
if {graph}:
    tf.compat.v1.disable_v2_behavior()
model = tf_keras.Sequential([tf_keras.layers.Dense(8, input_shape=(4,)), tf_keras.layers.Dense(1)])
model.compile(tf_keras.optimizers.legacy.SGD(0.01, momentum=0.9), "mse")
model.train_on_batch(np.zeros((1, 4)), np.zeros((1, 1)))
facts = model_record.describe_model(model)
shapes = [model_record.describe_row(layer)[2] for layer in model.layers]
print(json.dumps([facts["parameters"], shapes, facts["optimizer"]]))
"""


@pytest.mark.tensorflow
@pytest.mark.parametrize("graph", [True, False], ids=["graph", "eager"])
def test_a_model_in_a_graph_has_its_shapes_and_says_which_numbers_were_not_seen(graph: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(graph=graph)], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    parameters, shapes, optimizer = json.loads(done.stdout.splitlines()[-1])
    assert (parameters, shapes) == (49, [[[None, 8]], [[None, 1]]])
    if graph:
        assert optimizer["learning_rate"] is None and "momentum" not in optimizer
        assert {"learning_rate", "momentum"} <= set(optimizer["unread"])
    else:
        assert (optimizer["learning_rate"], round(optimizer["momentum"], 3)) == (0.01, 0.9)
        assert "unread" not in optimizer
