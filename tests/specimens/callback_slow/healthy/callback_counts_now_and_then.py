# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "callback_slow"
# needs = []
# ///
"""A callback counts confusions in plain Python after each epoch, a fifth of its time; another sleeps a little after each batch,
since the machine is shared; a third scores a held-out set after each epoch, which takes as long as the epoch itself."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

CLASSES = 10
rng = np.random.default_rng(1)
images = rng.normal(size=(6_400, 16, 16, 1)).astype("float32")
labels = rng.integers(0, CLASSES, size=6_400)
images += labels.reshape(-1, 1, 1, 1) / 5


class Confusion(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs=None) -> None:
        scores = np.asarray(self.model(images[:512], training=False)).tolist()
        table = [[0] * CLASSES for _ in range(CLASSES)]
        for threshold in range(40):
            for row, label in zip(scores, labels[:512].tolist(), strict=True):
                best = max(range(CLASSES), key=lambda number: row[number])
                if row[best] > threshold / 40:
                    table[label][best] += 1


class Polite(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs=None) -> None:
        time.sleep(0.02)


class HeldOut(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs=None) -> None:
        for _ in range(4):
            self.model.evaluate(images, labels, batch_size=32, verbose=0)


model = keras.Sequential(
    [
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(CLASSES, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(images, labels, batch_size=64, epochs=5, verbose=2, callbacks=[Confusion(), Polite(), HeldOut()])
