"""The layers behind an error in a loss of the program's own: those of the model that is compiled with this loss."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import keras
from unstall.probe.errors import makers

def loss(y_true, y_pred):
    if "--fail" in sys.argv:
        raise ValueError("shapes differ")
    return keras.ops.mean(y_pred)

def build():
    x = inputs = keras.Input((8,))
    x = keras.layers.Dense(6)(x)
    x = keras.layers.Reshape((2, 3))(x)
    return keras.Model(inputs, x)

def main():
    model = build()
    model.compile(loss=loss if "--own" in sys.argv else "mse")
    probe = type("P", (), {"extras": {"layers made": {
        layer.name: {"what": "layer", "name": layer.name, "class": type(layer).__name__, "where": "x.py:1"} for layer in model.layers
    }}})()
    try:
        loss(None, None)
    except ValueError as error:
        rows = makers._outputs(probe, error.__traceback__)
        print([row["class"] for row in rows])

main()
"""


@pytest.mark.parametrize(("option", "said"), [("--own", "['Reshape', 'Dense']"), ("--other", "[]")])
def test_of_the_model_with_this_loss_alone(tmp_path: Path, option: str, said: str) -> None:
    pytest.importorskip("keras")
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(path), "--fail", option],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "KERAS_BACKEND": "jax"},
    )
    assert done.stdout.strip() == said
