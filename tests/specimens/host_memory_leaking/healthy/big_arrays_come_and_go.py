# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "host_memory_leaking"
# needs = []
# ///
"""Every 40 steps the program builds a table of several hundred megabytes for a score and drops it: a sawtooth."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import time

import numpy as np
import tensorflow as tf


def pairwise_score(features: np.ndarray) -> float:
    columns: list[np.ndarray] = []
    for start in range(0, len(features), 500):
        columns.append(np.abs(features[:, None] - features[None, start : start + 500]).mean(axis=2))
        time.sleep(0.05)
    return float(np.concatenate(columns, axis=1).mean())


@tf.function
def train_step(model: tf.keras.Model, optimizer: tf.keras.optimizers.Optimizer, inputs: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - tf.reduce_mean(inputs, axis=1, keepdims=True)))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def main() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(1)])
    model(tf.zeros((1, 64)))
    optimizer = tf.keras.optimizers.Adam(0.001)
    optimizer.build(model.trainable_variables)
    generator = np.random.default_rng(0)
    for step in range(240):
        loss = train_step(model, optimizer, tf.constant(generator.normal(size=(512, 64)), tf.float32))
        time.sleep(0.02)
        if step % 40 == 39:
            score = pairwise_score(generator.normal(size=(5_000, 8)).astype(np.float32))
            print(f"step {step} loss {float(loss):.4f} score {score:.4f}", flush=True)


if __name__ == "__main__":
    main()
