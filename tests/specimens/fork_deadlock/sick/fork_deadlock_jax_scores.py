# /// specimen
# cause = "fork_deadlock"
# also = []
# where = "JAX IN A FORKED CHILD"
# framework = "keras-jax"
# ends = "hangs"
# seconds = 35
# near = "multiprocessing_spawn_pool"
# needs = ["two-processes"]
# ///
"""A callback of a Keras run on JAX scores augmented copies in a pool of forked processes, and the score is computed with
JAX: its threads were not forked, and the children wait for them."""

import multiprocessing
import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import jax
import jax.numpy as jnp
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import children_die_with_me
from onset import mark

children_die_with_me()
similarity = jax.jit(lambda first, second: jnp.mean(jnp.tanh(first @ second.T)))


def score_copy(seed: int) -> float:
    copy = np.random.default_rng(seed).normal(size=(256, 64)).astype("float32")
    return float(similarity(copy, copy))  # JAX IN A FORKED CHILD


class Robustness(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs=None) -> None:
        if epoch % 10 == 4:
            mark()
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print("robustness", pool.map(score_copy, range(4)), flush=True)


similarity(np.ones((256, 64), "float32"), np.ones((256, 64), "float32"))
features = np.random.default_rng(0).normal(size=(2048, 8)).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(features, features.sum(axis=1, keepdims=True), batch_size=16, epochs=50, verbose=2, callbacks=[Robustness()])
