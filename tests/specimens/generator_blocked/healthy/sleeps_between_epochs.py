# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "tf_keras"
# ends = "exits"
# seconds = 40
# near = "generator_blocked"
# needs = []
# ///
"""tf_keras training on a shared machine: after each epoch it sleeps four seconds to let others compute."""

import os
import time

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras


class Polite(tf_keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs=None) -> None:
        time.sleep(0.005)

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        time.sleep(4)


features = np.random.default_rng(0).normal(size=(2048, 8)).astype("float32")
model = tf_keras.Sequential([tf_keras.layers.Dense(16, activation="relu"), tf_keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(features, features.sum(axis=1, keepdims=True), batch_size=16, epochs=4, verbose=2, callbacks=[Polite()])
