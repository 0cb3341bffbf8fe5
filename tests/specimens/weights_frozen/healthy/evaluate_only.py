# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 40
# near = "weights_frozen"
# needs = []
# ///
"""Only evaluate a loaded model, with rising noise: the loss rises, the weights stay, and both are meant."""

import os
import time

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


def load_test_set(count=20000, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(count, 32)).astype("float32")
    return inputs, np.argmax(inputs[:, :4], axis=1)


def trained_model():
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(4, use_bias=False, activation="softmax")])
    model.set_weights([5 * np.eye(32, 4, dtype="float32")])
    model.compile(loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


model = trained_model()
inputs, labels = load_test_set()
rng = np.random.default_rng(1)
end = time.monotonic() + 18
for level in range(1000):
    noisy = inputs + 0.01 * level * rng.normal(size=inputs.shape).astype("float32")
    loss, accuracy = model.evaluate(noisy, labels, batch_size=32, verbose=0)
    print(f"noise {0.01 * level:.2f}: loss {loss:.4f}, accuracy {accuracy:.3f}", flush=True)
    if time.monotonic() > end:
        break
