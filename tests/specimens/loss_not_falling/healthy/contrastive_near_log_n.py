# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 45
# near = "loss_not_falling"
# needs = []
# ///
"""A contrastive loss over 256 pairs starts at log(256) = 5.545 and leaves it slowly. That is how it should be."""

import os
import time

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from keras import ops


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


class ContrastiveLoss(keras.layers.Layer):
    def call(self, left, right):
        left, right = ops.normalize(left, axis=-1), ops.normalize(right, axis=-1)
        scores = ops.matmul(left, ops.transpose(right)) / 2.0
        pair = ops.arange(ops.shape(scores)[0])
        self.add_loss(ops.mean(keras.losses.sparse_categorical_crossentropy(pair, scores, from_logits=True)))
        return scores


def make_pairs(count=4096, seed=0):
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=(count, 8))
    left = meaning @ rng.normal(size=(8, 40)) + rng.normal(size=(count, 40))
    right = meaning @ rng.normal(size=(8, 30)) + rng.normal(size=(count, 30))
    return left.astype("float32"), right.astype("float32")


left_input, right_input = keras.Input((40,)), keras.Input((30,))
left = keras.layers.Dense(16, name="left")(left_input)
right = keras.layers.Dense(16, name="right")(right_input)
model = keras.Model([left_input, right_input], ContrastiveLoss()(left, right))
model.compile(optimizer=keras.optimizers.Adam(2e-5))
model.fit(list(make_pairs()), batch_size=256, epochs=2000, verbose=2, callbacks=[TimeBudget(22)])
