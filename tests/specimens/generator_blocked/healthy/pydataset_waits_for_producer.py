# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "generator_blocked"
# needs = []
# ///
"""Keras fit over a PyDataset whose two workers wait for a thread that decodes folders. Opening a folder takes 3 s, and
the workers wait in queue.get meanwhile; then there are crops again."""

import os
import queue
import threading
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

crops: queue.Queue = queue.Queue(maxsize=60)


def decode_folders() -> None:
    rng = np.random.default_rng(1)
    while True:
        time.sleep(3.0)  # opens the next folder on a sleeping disk
        for _ in range(1600):
            crops.put(rng.normal(size=(12, 12, 3)).astype("float32"))


class Crops(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int):
        images = np.stack([crops.get() for _ in range(8)])
        return images, images.mean(axis=(1, 2))


threading.Thread(target=decode_folders, daemon=True).start()
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)])
model.compile("sgd", "mse")
slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.025))  # a larger model
model.fit(Crops(workers=2, use_multiprocessing=False, max_queue_size=4), epochs=5, verbose=2, callbacks=[slow])
