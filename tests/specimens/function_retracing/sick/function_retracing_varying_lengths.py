# /// specimen
# cause = "function_retracing"
# also = []
# where = "TRACED AGAIN"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "bucketed_sequence_lengths"
# needs = []
# ///
"""Each batch is padded to its own longest sentence, and every new length traces the step again."""

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


def read_sentences(seed=0):
    rng = np.random.default_rng(seed)
    while True:
        yield rng.integers(1, 500, rng.integers(5, 2000)), int(rng.integers(0, 2))


def batches(size=4):
    sentences = read_sentences()
    while True:
        words, labels = zip(*(next(sentences) for _ in range(size)))
        longest = max(len(sentence) for sentence in words)
        padded = np.zeros((size, longest), "int32")
        for row, sentence in zip(padded, words):
            row[: len(sentence)] = sentence
        yield padded, np.array(labels, "float32")[:, None]


embedding = keras.layers.Embedding(500, 16)
classify = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
loss_function = keras.losses.BinaryCrossentropy(from_logits=True)
embedding.build((None, None))
classify.build((None, 16))
variables = embedding.trainable_variables + classify.trainable_variables
optimizer.build(variables)


def train_step(words, labels):  # TRACED AGAIN
    with tf.GradientTape() as tape:
        logits = classify(tf.reduce_mean(embedding(words), axis=1))
        loss = loss_function(labels, logits)
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


compiled_step = tf.function(train_step)
mark()
end = time.monotonic() + 25
for step, (words, labels) in enumerate(batches()):
    loss = compiled_step(tf.constant(words), tf.constant(labels))
    if step % 20 == 0:
        print(f"step {step}: loss {float(loss):.4f}", flush=True)
    if time.monotonic() > end:
        break
