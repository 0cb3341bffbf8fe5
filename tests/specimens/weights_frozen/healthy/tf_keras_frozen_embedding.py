# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "tf_keras"
# ends = "exits"
# seconds = 45
# near = "weights_frozen"
# needs = []
# ///
"""Keras 2 with a fixed, pre-trained embedding: most parameters are frozen on purpose, the rest learn."""

import os
import time

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras


class TimeBudget(tf_keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_reviews(vectors, count=3000, seed=0):
    rng = np.random.default_rng(seed)
    words = rng.integers(0, len(vectors), (count, 25))
    return words, (vectors[words].mean(axis=(1, 2)) > 0).astype("float32")


vectors = np.random.default_rng(1).normal(size=(5000, 32)).astype("float32")
words, liked = load_reviews(vectors)
model = tf_keras.Sequential(
    [
        tf_keras.layers.Embedding(5000, 32, weights=[vectors], trainable=False, input_length=25),
        tf_keras.layers.GlobalAveragePooling1D(),
        tf_keras.layers.Dense(8, activation="relu"),
        tf_keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(words, liked, batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
