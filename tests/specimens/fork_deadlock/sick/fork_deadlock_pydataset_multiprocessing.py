# /// specimen
# cause = "fork_deadlock"
# also = ["generator_blocked"]
# where = "TENSORFLOW IN A FORKED CHILD"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 40
# near = "pydataset_multiprocessing_numpy_only"
# needs = ["two-processes"]
# ///
"""Keras fit over a PyDataset with use_multiprocessing=True. Its workers are forked after TensorFlow has started its
threads, and resize images with a TensorFlow function, which waits in the child for threads that were not forked."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import children_die_with_me
from onset import mark

children_die_with_me()


@tf.function
def shrink(images):
    blurred = tf.nn.avg_pool2d(images, 3, 1, "SAME")
    return tf.image.resize(blurred, (8, 8)) + 0.0 * tf.reduce_mean(tf.image.flip_up_down(images))


class Photos(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int):
        images = np.random.default_rng(index).normal(size=(16, 24, 24, 3)).astype("float32")
        small = shrink(tf.constant(images)).numpy()  # TENSORFLOW IN A FORKED CHILD
        return small, small.mean(axis=(1, 2))


model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)])
model.compile("adam", "mse")
model.fit(Photos(), epochs=2, verbose=2)
mark()
model.fit(Photos(workers=2, use_multiprocessing=True, max_queue_size=4), epochs=40, verbose=2)
