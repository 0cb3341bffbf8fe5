# /// specimen
# cause = "checkpoint_slow"
# also = []
# where = "SAVES HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "checkpoint_each_epoch"
# needs = []
# ///
"""ModelCheckpoint writes the whole model, with 150 MB of frozen word vectors, after every 10 steps."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

WORDS = 300_000


def build_model():
    model = keras.Sequential(
        [
            keras.layers.Embedding(WORDS, 128, trainable=False),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    return model


def main() -> None:
    random = np.random.default_rng(0)
    texts = random.integers(0, WORDS, size=(4_800, 40))
    labels = random.integers(0, 2, size=(4_800, 1)).astype("float32")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        save = keras.callbacks.ModelCheckpoint(folder + "/last.keras", save_freq=10)
        model = build_model()
        mark()
        model.fit(texts, labels, batch_size=16, epochs=1, callbacks=[save])  # SAVES HERE


if __name__ == "__main__":
    main()
