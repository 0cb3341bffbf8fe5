# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "fork_deadlock"
# needs = ["two-processes"]
# ///
"""Keras fit over a PyDataset with use_multiprocessing=True. The forked workers use NumPy only, never TensorFlow, and one
of them is slow now and then."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


class Photos(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int):
        time.sleep(2.0 if index == 50 else 0.004)
        images = np.random.default_rng(index).normal(size=(16, 8, 8, 3)).astype("float32")
        return images, images.mean(axis=(1, 2))


if __name__ == "__main__":
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)])
    model.compile("adam", "mse")
    slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.025))  # a larger model
    model.fit(Photos(workers=2, use_multiprocessing=True, max_queue_size=4), epochs=6, verbose=2, callbacks=[slow])
