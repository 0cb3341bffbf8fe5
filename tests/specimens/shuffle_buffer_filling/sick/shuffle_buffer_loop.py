# /// specimen
# cause = "shuffle_buffer_filling"
# also = []
# where = "FILLING HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 45
# near = "shuffle_fills_quickly"
# needs = []
# ///
"""An own loop that shuffles 24,000 costly spectra. The buffer takes most of a minute to fill, then training runs."""

import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def spectrum(seed):
    wave = tf.random.stateless_normal([1 << 16], seed=tf.stack([seed, 1]))
    power = tf.abs(tf.signal.rfft(wave))[1:]
    bands = tf.reduce_mean(tf.reshape(tf.sort(power), [64, -1]), axis=1) / 100.0
    return bands, tf.reduce_sum(bands[:8], keepdims=True)


@tf.function
def train_step(weights, bands, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(bands @ weights - targets))
    weights.assign_sub(0.001 * tape.gradient(loss, weights))
    return loss


def main() -> None:
    seeds = tf.data.Dataset.range(26_000)
    dataset = (
        seeds.map(spectrum)
        .shuffle(24_000, seed=1)  # FILLING HERE
        .batch(64)
    )
    weights = tf.Variable(tf.zeros([64, 1]))
    mark()
    for step, (bands, targets) in enumerate(dataset):
        loss = train_step(weights, bands, targets)
        if step % 20 == 0:
            print(f"step {step} loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
