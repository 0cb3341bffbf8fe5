# /// specimen
# cause = "layer_shapes_mismatch"
# also = []
# where = "JOINED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "layer_shapes_mismatch_padded"
# needs = []
# ///
"""A U-Net for images of 100 pixels: 100 is 50, 25, 12 after three poolings, and 12 is 24 after the first upsampling."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
from keras import layers

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def up(x, skip, filters):
    x = layers.UpSampling2D(2)(x)
    x = layers.Concatenate()([x, skip])  # JOINED HERE
    return layers.Conv2D(filters, 3, padding="same", activation="relu")(x)


def unet(size):
    image = keras.Input((size, size, 3))
    skips, x = [], image
    for filters in (8, 16, 32):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    for filters, skip in zip((32, 16, 8), reversed(skips)):
        x = up(x, skip, filters)
    return keras.Model(image, layers.Conv2D(1, 1, activation="sigmoid")(x))


if __name__ == "__main__":
    mark()
    model = unet(100)
    model.compile("adam", "binary_crossentropy")
