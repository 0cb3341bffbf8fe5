# /// specimen
# cause = "batch_constant"
# also = []
# where = "STARTS AGAIN HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "fit_in_loop_one_epoch"
# needs = []
# ///
"""The iterator is made inside the step function that the loop calls, so each step trains on the first batch."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

STEPS_PER_EPOCH = 50


def load_sentiment(seed=8):
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 300, (2500, 30))
    positive = (words.mean(axis=1) > 150).astype("float32")[:, None]
    return tf.data.Dataset.from_tensor_slices((words, positive)).cache().batch(25)


class SentimentTrainer:
    def __init__(self, dataset):
        self.dataset = dataset
        self.model = keras.Sequential(
            [keras.layers.Embedding(300, 16), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)]
        )
        self.optimizer = keras.optimizers.Adam(1e-3)
        self.loss = keras.losses.BinaryCrossentropy(from_logits=True)

    def one_step(self):
        batches = iter(self.dataset)  # STARTS AGAIN HERE
        words, positive = next(batches)
        with tf.GradientTape() as tape:
            loss = self.loss(positive, self.model(words, training=True))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return float(loss)


trainer = SentimentTrainer(load_sentiment())
mark()
end = time.monotonic() + 25
epoch = 0
while time.monotonic() < end:
    losses = [trainer.one_step() for _ in range(STEPS_PER_EPOCH)]
    epoch += 1
    print(f"epoch {epoch}: loss {np.mean(losses):.4f}", flush=True)
