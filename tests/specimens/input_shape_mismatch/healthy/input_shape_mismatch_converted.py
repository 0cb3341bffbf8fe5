# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 60
# near = "input_shape_mismatch"
# needs = []
# ///
"""Gray images that are given three channels before the model gets them."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

images = np.repeat(np.zeros((64, 28, 28, 1), "float32"), 3, axis=-1)
model = keras.Sequential([keras.Input((28, 28, 3)), keras.layers.Conv2D(4, 3), keras.layers.GlobalAveragePooling2D()])
model.add(keras.layers.Dense(10, "softmax"))
model.compile("sgd", "sparse_categorical_crossentropy")
model.fit(images, np.arange(64) % 10, epochs=1, verbose=0)
