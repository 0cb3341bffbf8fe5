# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 60
# near = "loss_shape_mismatch"
# needs = []
# ///
"""Class numbers with the loss that takes them, and outputs of one rank more than the labels have."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(10, "softmax")])
model.compile("sgd", "sparse_categorical_crossentropy")
rng = np.random.default_rng(0)
model.fit(rng.normal(size=(64, 8)).astype("float32"), rng.integers(0, 10, 64), epochs=1, verbose=0)
