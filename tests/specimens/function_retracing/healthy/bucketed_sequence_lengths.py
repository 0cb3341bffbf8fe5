# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 45
# near = "function_retracing"
# needs = []
# ///
"""Sentences padded to one of eight lengths: eight traces, all in the beginning, then none."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

BUCKETS = (8, 16, 24, 32, 48, 64, 96, 128)


def batches(size=16, seed=0):
    rng = np.random.default_rng(seed)
    while True:
        length = int(rng.choice(BUCKETS))
        words = rng.integers(1, 200, (size, length)).astype("int32")
        yield words, (words.mean(axis=1, keepdims=True) > 100).astype("float32")


embedding = keras.layers.Embedding(200, 16)
classify = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
loss_function = keras.losses.BinaryCrossentropy(from_logits=True)
embedding.build((None, None))
classify.build((None, 16))
variables = embedding.trainable_variables + classify.trainable_variables
optimizer.build(variables)


@tf.function
def train_step(words, labels):
    with tf.GradientTape() as tape:
        loss = loss_function(labels, classify(tf.reduce_mean(embedding(words), axis=1)))
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


end = time.monotonic() + 20
for step, (words, labels) in enumerate(batches()):
    loss = train_step(tf.constant(words), tf.constant(labels))
    if step % 300 == 0:
        print(f"step {step}: loss {float(loss):.4f}, traces {train_step.experimental_get_tracing_count()}", flush=True)
    if time.monotonic() > end:
        break
