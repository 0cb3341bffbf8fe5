import os

os.environ["KERAS_BACKEND"] = "jax"

import pathlib
import tempfile

import keras
import numpy as np

from export import export_predictions
from layers import AttentionPool

keras.utils.set_random_seed(1)


def motifs(n, steps=30, features=4, seed=0):
    """Sequences that hold, or do not hold, a short motif somewhere."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, steps, features)).astype("float32")
    y = rng.integers(0, 2, n)
    for i in np.flatnonzero(y):
        at = rng.integers(0, steps - 3)
        x[i, at : at + 3] += 2.5
    return x, y.astype("float32")


def build():
    inputs = keras.Input((30, 4))
    x = keras.layers.Conv1D(16, 3, padding="same", activation="relu")(inputs)
    x = AttentionPool(8, name="pool")(x)
    outputs = keras.layers.Dense(1, activation="sigmoid")(x)
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy", metrics=["accuracy"])
    return model


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="motifs_"))
    best = work / "best.keras"
    x, y = motifs(400)
    x_test, y_test = motifs(100, seed=1)
    callbacks = [
        keras.callbacks.ModelCheckpoint(best, monitor="val_accuracy", mode="max", save_best_only=True),
        keras.callbacks.EarlyStopping(monitor="val_accuracy", mode="max", patience=3),
    ]
    model = build()
    model.fit(x, y, epochs=3, batch_size=32, validation_split=0.2, callbacks=callbacks, verbose=2)
    loss, acc = model.evaluate(x_test, y_test, verbose=0)
    print(f"test accuracy {acc:.3f}")
    shape = export_predictions(best, x_test, work / "scores.npy")
    print("exported", shape)


if __name__ == "__main__":
    main()
