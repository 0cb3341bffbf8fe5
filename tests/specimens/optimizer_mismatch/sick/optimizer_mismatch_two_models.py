# /// specimen
# cause = "optimizer_mismatch"
# also = []
# where = "GIVEN ANOTHER MODEL"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 60
# near = "optimizer_mismatch_built_for_both"
# needs = []
# ///
"""A generator and a discriminator are updated by one optimizer, which Keras built for the first of them."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def make(name: str, units: int) -> keras.Model:
    return keras.Sequential([keras.Input((6,)), keras.layers.Dense(units, name=f"{name}_dense")], name=name)


discriminator, generator = make("discriminator", 1), make("generator", 6)
optimizer = keras.optimizers.Adam(1e-3)


def update(model: keras.Model) -> None:
    gradients = [keras.ops.ones(variable.shape) for variable in model.trainable_variables]
    optimizer.apply(gradients, model.trainable_variables)  # GIVEN ANOTHER MODEL


for step in range(3):
    print("step", step, float(discriminator(np.ones((1, 6)))[0, 0]))
    update(discriminator)
    mark()
    update(generator)
