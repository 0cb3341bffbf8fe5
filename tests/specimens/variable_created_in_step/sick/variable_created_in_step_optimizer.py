# /// specimen
# cause = "variable_created_in_step"
# also = []
# where = "MADE HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 90
# near = "variable_created_in_step_first"
# needs = []
# ///
"""The optimizer is made inside the compiled step."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


@tf.function
def train_step(model, x, y):
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9)  # MADE HERE
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


if __name__ == "__main__":
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    mark()
    for _ in range(5):
        train_step(model, tf.ones((32, 4)), tf.ones((32, 1)))
