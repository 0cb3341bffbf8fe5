# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "symbolic_value_used"
# needs = []
# ///
"""The same functions where they may stand: in a layer, in tf.numpy_function; and a helper that tries .numpy() first."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf


class Resize(keras.layers.Layer):
    def call(self, features):
        return tf.image.resize(features, (16, 16))


def static_or_not(value):
    try:
        return value.numpy()
    except AttributeError:
        return value


def noisy(image):
    image = tf.numpy_function(lambda x: (x + np.float32(0.1)).astype("float32"), [static_or_not(image)], tf.float32)
    return tf.ensure_shape(image, (16, 16, 1)), tf.reduce_mean(image)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    dataset = tf.data.Dataset.from_tensor_slices(rng.random((64, 16, 16, 1), dtype="float32")).map(noisy).batch(16)
    image = keras.Input((16, 16, 1))
    x = Resize()(keras.layers.Conv2D(4, 3, strides=2, padding="same")(image))
    model = keras.Model(image, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling2D()(x)))
    model.compile("adam", "mse")
    model.fit(dataset, epochs=2, verbose=0)
