"""A model, an optimizer or a data set that the program lets go is let go: the probe keeps no reference that would hold it."""

from pathlib import Path

import pytest

from tests.programs import run_bare, run_watched, write

FIT = """
import gc, os, sys, weakref
backend = sys.argv[1]
os.environ["KERAS_BACKEND"] = "tensorflow" if backend == "tf_keras" else backend
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
if backend == "tf_keras":
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tf_keras as keras
else:
    import keras

class Data(np.ndarray):
    pass

def train():
    x = np.random.default_rng(0).normal(size=(256, 6)).astype("float32").view(Data)
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(np.asarray(x), np.asarray(x[:, :1]), epochs=2, verbose=0)
    return [weakref.ref(thing) for thing in (x, model, model.optimizer, model.layers[0])]

references = train()
if backend not in ("tf_keras",):
    keras.backend.clear_session()
gc.collect()
print([reference() is None for reference in references])
"""
LOOP = """
import tensorflow as tf

def train():
    weights = tf.Variable(tf.ones([6, 1]))
    data = tf.data.Dataset.from_tensor_slices(tf.random.normal([256, 6])).batch(16)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights) ** 2)
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    for _ in range(3):
        for x in data:
            step(x)
    return [weakref.ref(weights), weakref.ref(data)]

references = train()
gc.collect()
print([reference() is None for reference in references])
"""


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("tensorflow", marks=pytest.mark.tensorflow),
        pytest.param("tf_keras", marks=pytest.mark.tensorflow),
        pytest.param("jax", marks=pytest.mark.jax),
        pytest.param("torch", marks=pytest.mark.torch),
    ],
)
def test_after_a_fit_and_on_tensorflow_after_a_loop_of_ones_own(backend: str, tmp_path: Path) -> None:
    program = write(tmp_path, FIT + (LOOP if backend == "tensorflow" else ""))
    bare = run_bare(program, backend)
    assert (bare.code, bare.out.count(b"]")) == (0, 2 if backend == "tensorflow" else 1)
    assert run_watched(program, backend).out == bare.out
