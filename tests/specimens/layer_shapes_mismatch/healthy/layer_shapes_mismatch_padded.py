# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "layer_shapes_mismatch"
# needs = []
# ///
"""The same odd sizes, cropped to fit; and a search for the largest size that a model without padding can still take."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
from keras import layers


def small(size, poolings):
    x = image = keras.Input((size, size, 1))
    for _ in range(poolings):
        x = layers.MaxPooling2D(2)(layers.Conv2D(4, 3)(x))
    return keras.Model(image, layers.GlobalAveragePooling2D()(x))


def deepest(size):
    for poolings in range(6, 0, -1):
        try:
            return small(size, poolings)
        except ValueError:  # a side would be negative
            continue
    raise ValueError(f"no model fits images of {size} pixels")


def main() -> None:
    deepest(28)
    image = keras.Input((25, 25, 3))
    half = layers.Conv2D(8, 3, strides=2, padding="same")(image)
    back = layers.Cropping2D(((0, 1), (0, 1)))(layers.UpSampling2D(2)(half))
    x = layers.Concatenate()([image, back])
    model = keras.Model(image, layers.Dense(1)(layers.GlobalAveragePooling2D()(x)))
    model.compile("adam", "mse")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 25, 25, 3))
    model.fit(x, x.mean(axis=(1, 2, 3)), epochs=3, verbose=0)


if __name__ == "__main__":
    main()
