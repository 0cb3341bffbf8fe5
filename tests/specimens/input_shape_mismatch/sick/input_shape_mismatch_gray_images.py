# /// specimen
# cause = "input_shape_mismatch"
# also = []
# where = "MADE HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 60
# near = "input_shape_mismatch_converted"
# needs = []
# ///
"""The model is made for images in color, and the data set has gray ones."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def main() -> None:
    model = keras.Sequential([keras.Input((28, 28, 3))])
    model.add(keras.layers.Conv2D(4, 3, name="stem"))  # MADE HERE
    model.add(keras.layers.GlobalAveragePooling2D())
    model.add(keras.layers.Dense(10, "softmax"))
    model.compile("sgd", "sparse_categorical_crossentropy")
    mark()
    model.fit(np.zeros((64, 28, 28, 1), "float32"), np.zeros(64, "int32"), epochs=1, verbose=0)


if __name__ == "__main__":
    main()
