"""Small architecture sweep with Keras on JAX; shapes that cannot work are noted and skipped."""
import os

os.environ["KERAS_BACKEND"] = "jax"

import logging

import keras
import numpy as np
from keras import layers

logging.basicConfig(level=logging.INFO, format="%(message)s")


def signals(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    t = np.linspace(0, 6, 32)
    x = np.sin((1 + 2 * y[:, None]) * t) + rng.normal(0, 0.3, (n, 32))
    return x[..., None].astype("float32"), y.astype("float32")


def build(kernel, depth):
    inputs = keras.Input((32, 1))
    x = inputs
    for _ in range(depth):
        x = layers.Conv1D(8, kernel, activation="relu")(x)
        x = layers.MaxPooling1D(2)(x)
    outputs = layers.Dense(1, activation="sigmoid")(layers.Flatten()(x))
    model = keras.Model(inputs, outputs)
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


def objective(kernel, depth, data, valid):
    model = build(kernel, depth)
    model.fit(*data, epochs=2, batch_size=50, verbose=0)
    return model.evaluate(*valid, verbose=0)[1]


def main():
    keras.utils.set_random_seed(0)
    data, valid = signals(200, 0), signals(60, 1)
    table = []
    for kernel, depth in [(3, 1), (9, 3), (5, 2), (33, 1)]:
        try:
            score = objective(kernel, depth, data, valid)
        except ValueError as err:
            logging.info("kernel %d depth %d impossible: %s", kernel, depth, str(err).splitlines()[0])
            continue
        table.append((score, kernel, depth))
        logging.info("kernel %d depth %d accuracy %.3f", kernel, depth, score)
    assert table, "no architecture could be trained"
    print("best", max(table))


if __name__ == "__main__":
    main()
