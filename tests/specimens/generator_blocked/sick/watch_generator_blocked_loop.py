# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "loop-tensorflow"
# ends = "hangs"
# seconds = 45
# near = "watch_loop"
# needs = []
# shape = "guard"
# ///
"""A loop of one's own under unstall.watch(): the dataset's generator waits for ever for its producer thread's queue."""

import os
import queue
import sys
import threading
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

import unstall

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

frames = queue.Queue(maxsize=8)


def produce(count=2000):
    """Stands for a camera thread that ends without telling anybody."""
    rng = np.random.default_rng(1)
    for _ in range(count):
        frame = rng.normal(size=(24, 10)).astype("float32")
        frames.put((frame, frame[:, :1] * 2))
    mark()


def read_frames():
    while True:
        yield frames.get()  # BLOCKED HERE


model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)


@tf.function
def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(inputs, training=True) - targets) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


signature = (tf.TensorSpec((24, 10)), tf.TensorSpec((24, 1)))
dataset = tf.data.Dataset.from_generator(read_frames, output_signature=signature).prefetch(2)
threading.Thread(target=produce, daemon=True).start()
with unstall.watch() as run:
    for step, (inputs, targets) in enumerate(run.steps(dataset)):
        loss = train_step(inputs, targets)
        if step % 500 == 0:
            print(f"step {step}: loss {float(loss):.4f}", flush=True)
