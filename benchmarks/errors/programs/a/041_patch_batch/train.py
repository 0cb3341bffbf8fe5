"""Finds the largest batch that fits the memory budget, then trains the detector with it."""
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

SIZE = 48
BUDGET = 24 * 2 ** 20


class BudgetExceeded(MemoryError):
    pass


def patches(path, n=128):
    rng = np.random.default_rng(81)
    x = rng.random((n, SIZE, SIZE, 3), dtype=np.float32) * 0.3
    y = np.zeros((n, 6, 6, 5), np.float32)
    for i in range(n):
        r, c = rng.integers(0, 6, 2)
        x[i, r * 8:r * 8 + 8, c * 8:c * 8 + 8] = 0.9
        y[i, r, c] = (1, 0.5, 0.5, 1, 1)
    np.savez(path, x=x, y=y)


def build():
    model = keras.Sequential([layers.Input((SIZE, SIZE, 3))])
    for filters in (16, 24, 32):
        model.add(layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu"))
    model.add(layers.Conv2D(5, 1, activation="sigmoid"))
    model.compile("adam", "binary_crossentropy")
    return model


def check_budget(model, batch_size):
    values = sum(int(np.prod(layer.output.shape[1:])) for layer in model.layers) * batch_size
    if values * 4 * 3 > BUDGET:
        raise BudgetExceeded(f"batch {batch_size} needs {values * 12 / 2 ** 20:.0f} MiB")


def largest_batch(model, x, y, start=512):
    batch_size = start
    while batch_size:
        try:
            check_budget(model, batch_size)
            model.train_on_batch(x[:batch_size], y[:batch_size])
            return batch_size
        except (BudgetExceeded, tf.errors.ResourceExhaustedError) as e:
            print(f"{type(e).__name__}: {e}")
            batch_size //= 2
    raise RuntimeError("not even one example fits")


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="patches_"), "patches.npz")
    patches(path)
    with np.load(path) as npz:
        x, y = npz["x"], npz["y"]
    model = build()
    batch_size = largest_batch(model, x, y)
    print("batch size", batch_size)
    model.fit(x, y, batch_size=batch_size, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
