# /// specimen
# cause = "input_starved"
# also = []
# where = "STARVED HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "loop_just_ends"
# needs = []
# ///
"""The whole epoch is one tf.function that iterates over the dataset; the slow map starves it, unseen from Python."""

import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

weights = tf.Variable(tf.random.normal([128, 1], stddev=0.1))


def spectrum(seed):
    signal = tf.random.stateless_normal([1 << 19], seed=[7, seed])
    magnitudes = tf.abs(tf.signal.rfft(signal))
    features = tf.sort(magnitudes)[-128:] / 1000.0
    return features, tf.reduce_sum(features[:4], keepdims=True)


@tf.function
def train_epoch(dataset):
    total = 0.0
    for features, targets in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(features @ weights - targets))
        weights.assign_sub(0.0001 * tape.gradient(loss, weights))
        total += loss
    return total


def main() -> None:
    seeds = tf.data.Dataset.range(192)
    dataset = seeds.map(spectrum)  # STARVED HERE
    dataset = dataset.batch(8)
    mark()
    for epoch in range(3):
        total = train_epoch(dataset)
        print(f"epoch {epoch} loss {float(total):.4f}", flush=True)


if __name__ == "__main__":
    main()
