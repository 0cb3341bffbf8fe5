# /// specimen
# cause = "compiling_long"
# also = []
# where = "COMPILES HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 60
# near = "first_step_long"
# needs = []
# ///
"""A tf.function whose Python loop over 6,000 time steps is unrolled into the graph: tracing it takes minutes."""

import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

kernel = tf.Variable(tf.random.normal([16, 16], stddev=0.1))
bias = tf.Variable(tf.zeros([16]))


def rollout(state, steps: int):
    for _ in range(steps):
        state = tf.nn.tanh(state @ kernel + bias)
        state = state / (tf.norm(state, axis=-1, keepdims=True) + 1.0)
    return state


@tf.function
def train_step(states):
    with tf.GradientTape() as tape:
        final = rollout(states, 6_000)
        loss = tf.reduce_mean(tf.square(final - 0.5))
    gradients = tape.gradient(loss, [kernel, bias])
    kernel.assign_sub(0.01 * gradients[0])
    bias.assign_sub(0.01 * gradients[1])
    return loss


def main() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(tf.random.normal([640, 16])).repeat(20).batch(32)
    mark()
    for step, states in enumerate(dataset):
        loss = train_step(states)  # COMPILES HERE
        if step % 10 == 0:
            print(f"step {step} loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
