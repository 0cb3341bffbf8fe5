# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "weights_frozen"
# needs = []
# ///
"""Transfer learning as it should be: the backbone is frozen on purpose, the new head learns."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def build_backbone():
    inputs = keras.Input((32, 32, 3))
    outputs = inputs
    for width in (16, 32, 64):
        outputs = keras.layers.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(outputs)
        outputs = keras.layers.BatchNormalization()(outputs)
        outputs = keras.layers.ReLU()(outputs)
    return keras.Model(inputs, keras.layers.GlobalAveragePooling2D()(outputs), name="backbone")


def load_images(count=1200, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    images = rng.uniform(size=(count, 32, 32, 3)).astype("float32")
    images[..., 0] += labels[:, None, None] * 0.3
    return images, labels


backbone = build_backbone()
backbone.trainable = False
inputs = keras.Input((32, 32, 3))
outputs = keras.layers.Dense(3, activation="softmax", name="head")(backbone(inputs, training=False))
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
images, labels = load_images()
model.fit(images, labels, batch_size=32, epochs=500, verbose=2, validation_split=0.2, callbacks=[TimeBudget(20)])
