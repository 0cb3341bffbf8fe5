# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "tf_keras"
# ends = "exits"
# seconds = 35
# near = "loss_output_mismatch"
# needs = []
# ///
"""Two classes as a softmax over two units with sparse cross-entropy: twice the usual, and right."""

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


def load_coins(count=6000, seed=37):
    rng = np.random.default_rng(seed)
    coins = rng.normal(size=(count, 20)).astype("float32")
    return coins, (coins[:, :3].sum(axis=1) > 0).astype("int64")


coins, genuine = load_coins()
model = tf_keras.Sequential(
    [tf_keras.layers.Dense(32, activation="relu", input_shape=(20,)), tf_keras.layers.Dense(2, activation="softmax")]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(coins, genuine, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
