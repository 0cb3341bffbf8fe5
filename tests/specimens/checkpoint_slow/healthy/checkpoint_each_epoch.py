# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 30
# near = "checkpoint_slow"
# needs = []
# ///
"""The whole model, 150 MB, is saved after each epoch: half a second or so of each five."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


def main() -> None:
    random = np.random.default_rng(0)
    texts = random.integers(0, 300_000, size=(4_800, 60))
    labels = (texts[:, :1] % 2).astype("float32")
    model = keras.Sequential(
        [
            keras.layers.Embedding(300_000, 128, trainable=False),
            keras.layers.Conv1D(64, 5, activation="relu"),
            keras.layers.Conv1D(64, 5, activation="relu"),
            keras.layers.GlobalMaxPooling1D(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        save = keras.callbacks.ModelCheckpoint(folder + "/epoch_{epoch}.keras")
        model.fit(texts, labels, batch_size=16, epochs=5, verbose=2, callbacks=[save])


if __name__ == "__main__":
    main()
