# /// specimen
# cause = "thread_died"
# also = []
# where = "DIED HERE"
# framework = "tf_keras"
# ends = "hangs"
# seconds = 30
# near = "queue_wait_between_steps"
# needs = []
# ///
"""tf_keras fit over a generator that takes batches from a queue. The thread that fills the queue dies of an exception on
a bad row; the generator waits for its next batch for ever."""

import os
import queue
import sys
import threading
import time
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


class RowReader(threading.Thread):
    """Parses rows of text ahead of the training."""

    def __init__(self) -> None:
        super().__init__(name="row-reader", daemon=True)
        self.ready: queue.Queue = queue.Queue(maxsize=4)

    def run(self) -> None:
        rng = np.random.default_rng(7)
        for number in range(10**9):
            rows = [" ".join(map(str, rng.normal(size=6))) for _ in range(8)]
            if number == 400:
                time.sleep(0.5)
                mark()
                rows[3] = rows[3].replace(".", ",")
            self.ready.put(np.array([row.split() for row in rows], dtype="float32"))  # DIED HERE


def batches(reader: RowReader):
    while True:
        table = reader.ready.get()
        yield table[:, :5], table[:, 5:]


reader = RowReader()
reader.start()
model = tf_keras.Sequential([tf_keras.layers.Dense(8, activation="relu"), tf_keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(batches(reader), steps_per_epoch=150, epochs=50, verbose=2)
