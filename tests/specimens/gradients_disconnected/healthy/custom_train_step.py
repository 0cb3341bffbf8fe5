# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "gradients_disconnected"
# needs = []
# ///
"""A train_step of one's own with two tapes, a penalty on the input gradient and only some variables updated."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


class SmoothModel(keras.Model):
    def train_step(self, data):
        inputs, targets = data
        inputs = tf.convert_to_tensor(inputs)
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(inputs)
                outputs = self(inputs, training=True)
            slope = inner.gradient(outputs, inputs)
            loss = self.compute_loss(x=inputs, y=targets, y_pred=outputs) + 0.01 * tf.reduce_mean(slope**2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        for metric in self.metrics:
            metric.update_state(loss) if metric.name == "loss" else metric.update_state(targets, outputs)
        return {metric.name: metric.result() for metric in self.metrics}


def load_terrain(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    places = rng.uniform(-2, 2, (count, 2)).astype("float32")
    return places, np.sin(places[:, :1]) * np.cos(places[:, 1:])


inputs = keras.Input((2,))
hidden = keras.layers.Dense(64, activation="tanh")(inputs)
model = SmoothModel(inputs, keras.layers.Dense(1)(hidden))
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
model.fit(*load_terrain(), batch_size=40, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
