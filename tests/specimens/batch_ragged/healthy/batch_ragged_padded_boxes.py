# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "batch_ragged"
# needs = []
# ///
"""As many boxes as there are objects in each image, padded to the longest of the batch: this is how it is meant."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf


def load(number):
    return tf.zeros((16, 16, 3)), tf.zeros((1 + number % 4, 4))


dataset = tf.data.Dataset.range(64).map(load).padded_batch(16, padded_shapes=((16, 16, 3), (4, 4)))
model = keras.Sequential([keras.Input((16, 16, 3)), keras.layers.Flatten(), keras.layers.Dense(16), keras.layers.Reshape((4, 4))])
model.compile("sgd", "mse")
model.fit(dataset, epochs=2, verbose=0)
