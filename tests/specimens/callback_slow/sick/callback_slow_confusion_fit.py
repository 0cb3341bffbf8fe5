# /// specimen
# cause = "callback_slow"
# also = []
# where = "COUNTS HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "callback_counts_now_and_then"
# needs = []
# ///
"""A callback counts, in plain Python, how often each class was taken for each other, after every batch."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

CLASSES = 10
rng = np.random.default_rng(1)
images = rng.normal(size=(12_800, 16, 16, 1)).astype("float32")
labels = rng.integers(0, CLASSES, size=12_800)
images += labels.reshape(-1, 1, 1, 1) / 5


class Confusion(keras.callbacks.Callback):
    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        super().__init__()
        self.images, self.labels = images, labels

    def on_train_batch_end(self, batch: int, logs=None) -> None:  # COUNTS HERE
        scores = np.asarray(self.model(self.images, training=False)).tolist()
        table = [[0] * CLASSES for _ in range(CLASSES)]
        for threshold in range(20):
            for row, label in zip(scores, self.labels.tolist(), strict=True):
                best = max(range(CLASSES), key=lambda number: row[number])
                if row[best] > threshold / 20:
                    table[label][best] += 1


model = keras.Sequential(
    [
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(CLASSES, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
mark()
model.fit(images, labels, batch_size=64, epochs=4, verbose=2, callbacks=[Confusion(images[:512], labels[:512])])
