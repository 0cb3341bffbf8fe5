# /// specimen
# cause = "dataset_exhausted"
# also = []
# where = "EXHAUSTED HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 25
# near = "dataset_ends_exactly"
# needs = []
# ///
"""An epoch of 300 steps over a dataset of 700 batches without repeat(): every third epoch is cut after 100 steps."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

BATCH = 32
STEPS_PER_EPOCH = 300


def make_dataset(batches: int):
    random = np.random.default_rng(0)
    inputs = random.normal(size=(batches * BATCH, 64)).astype("float32")
    labels = (inputs[:, 0] > 0).astype("int32")
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(1000).batch(BATCH).prefetch(1)


class Announce(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        print(f"starting epoch {epoch + 1}", flush=True)
        if epoch == 2:
            mark()


def main() -> None:
    model = keras.Sequential(
        [keras.layers.Dense(1024, "relu"), keras.layers.Dense(1024, "relu"), keras.layers.Dense(2, "softmax")]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    train = make_dataset(700)
    model.fit(train, steps_per_epoch=STEPS_PER_EPOCH, epochs=6, verbose=2, callbacks=[Announce()])  # EXHAUSTED HERE


if __name__ == "__main__":
    main()
