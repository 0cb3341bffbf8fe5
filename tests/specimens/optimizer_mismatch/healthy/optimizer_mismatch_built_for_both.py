# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 60
# near = "optimizer_mismatch"
# needs = []
# ///
"""One optimizer was built for two models and updates them together. A second one refuses a model, which is tried on purpose."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


def make(name: str, units: int) -> keras.Model:
    return keras.Sequential([keras.Input((6,)), keras.layers.Dense(units, name=f"{name}_dense")], name=name)


discriminator, generator = make("discriminator", 1), make("generator", 6)
variables = [*discriminator.trainable_variables, *generator.trainable_variables]
optimizer, narrow = keras.optimizers.Adam(1e-3), keras.optimizers.Adam(1e-3)
optimizer.build(variables)
narrow.build(discriminator.trainable_variables)
target = np.ones((8, 6), np.float32)
for step in range(40):
    errors = [np.asarray(model(target)).mean() - 1 for model in (discriminator, generator)]
    gradients = [keras.ops.full(variable.shape, errors[index >= 2]) for index, variable in enumerate(variables)]
    optimizer.apply(gradients, variables)
    print("step", step, "error", round(float(sum(map(abs, errors))), 4))
try:
    narrow.apply([keras.ops.ones(each.shape) for each in generator.trainable_variables], generator.trainable_variables)
except ValueError:
    narrow = keras.optimizers.Adam(1e-3)
