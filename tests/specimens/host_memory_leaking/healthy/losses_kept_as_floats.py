# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "host_memory_leaking"
# needs = []
# ///
"""An own loop keeps every loss and a small record of each step: lists that grow for ever, by a few bytes a step."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import time

import numpy as np
import tensorflow as tf


@tf.function
def train_step(model: tf.keras.Model, optimizer: tf.keras.optimizers.Optimizer, inputs: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - tf.reduce_mean(inputs, axis=1, keepdims=True)))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def main() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dense(1)])
    model(tf.zeros((1, 64)))
    optimizer = tf.keras.optimizers.Adam(0.001)
    optimizer.build(model.trainable_variables)
    generator = np.random.default_rng(0)
    data = tf.constant(generator.normal(size=(4_096, 64)), tf.float32)
    losses: list[float] = []
    records: list[dict[str, float]] = []
    began = time.monotonic()
    while time.monotonic() - began < 20:
        start = (len(losses) * 64) % 4_096
        loss = float(train_step(model, optimizer, data[start : start + 64]))
        losses.append(loss)
        records.append({"step": len(losses), "loss": loss, "seconds": time.monotonic() - began})
        if len(losses) % 1_000 == 0:
            print(f"step {len(losses)} loss {np.mean(losses[-1_000:]):.5f}", flush=True)
    print("records", len(records))


if __name__ == "__main__":
    main()
