# /// specimen
# cause = "host_memory_leaking"
# also = ["function_retracing"]
# where = "NEW FUNCTION HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 60
# near = "memory_grows_then_stays"
# needs = []
# ///
"""A factory wraps the training step in a new tf.function for every batch, and a trainer object per batch is kept.

Each one is traced anew; the traces stay in memory, so the program gets slower and larger with every step.
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from onset import mark


class Trainer:
    """Trains one model; the step is built for each batch so that its size may change."""

    def __init__(self) -> None:
        self.model = tf.keras.Sequential(
            [tf.keras.layers.Dense(256, activation="relu") for _ in range(6)] + [tf.keras.layers.Dense(1)]
        )
        self.optimizer = tf.keras.optimizers.Adam(0.001)
        self.steps: list[Callable[..., tf.Tensor]] = []

    def build_step(self) -> Callable[..., tf.Tensor]:
        @tf.function  # NEW FUNCTION HERE
        def step(inputs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:  # NEW FUNCTION HERE
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.model(inputs, training=True) - targets))
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables, strict=True))
            return loss

        self.steps.append(step)  # NEW FUNCTION HERE: and kept
        return step


def main() -> None:
    generator = np.random.default_rng(0)
    trainer = Trainer()
    trainer.model(tf.zeros((1, 32)))
    trainer.optimizer.build(trainer.model.trainable_variables)
    for index in range(130):
        inputs = tf.constant(generator.normal(size=(64, 32)), dtype=tf.float32)
        loss = trainer.build_step()(inputs, inputs[:, :1])
        mark()
        if index % 20 == 0:
            print(f"batch {index} loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
