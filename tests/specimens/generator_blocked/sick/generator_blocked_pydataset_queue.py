# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 30
# near = "pydataset_waits_for_producer"
# needs = []
# ///
"""Keras fit over a PyDataset with two workers. They take decoded crops from a queue that one thread fills; that thread
ends after its last folder, and nobody tells the workers."""

import os
import queue
import sys
import threading
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

FOLDERS, CROPS_PER_FOLDER, BATCH = 30, 100, 8
crops: queue.Queue = queue.Queue(maxsize=200)


def decode_folders() -> None:
    rng = np.random.default_rng(1)
    for _ in range(FOLDERS):
        for _ in range(CROPS_PER_FOLDER):
            crops.put(rng.normal(size=(12, 12, 3)).astype("float32"))
    while not crops.empty():
        threading.Event().wait(0.05)
    mark()


class Crops(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 120

    def next_crop(self) -> np.ndarray:
        return crops.get()  # BLOCKED HERE

    def __getitem__(self, index: int):
        images = np.stack([self.next_crop() for _ in range(BATCH)])
        return images, images.mean(axis=(1, 2))


threading.Thread(target=decode_folders, daemon=True).start()
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)])
model.compile("sgd", "mse")
model.fit(Crops(workers=2, use_multiprocessing=False, max_queue_size=4), epochs=40, verbose=2)
