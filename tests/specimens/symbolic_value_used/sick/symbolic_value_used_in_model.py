# /// specimen
# cause = "symbolic_value_used"
# also = []
# where = "CALLED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "symbolic_value_used_in_layer"
# needs = []
# ///
"""A functional model resizes its features by a function of TensorFlow, as Keras 2 allowed and Keras 3 does not."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def segment(side):
    image = keras.Input((side, side, 3))
    features = keras.layers.Conv2D(8, 3, strides=2, padding="same")(image)
    features = tf.image.resize(features, (side, side))  # CALLED HERE
    return keras.Model(image, keras.layers.Conv2D(1, 1)(features))


if __name__ == "__main__":
    mark()
    model = segment(32)
    model.compile("adam", "mse")
