"""Two moons with explicit iterators over tf.data."""
import os
import tempfile

import numpy as np
import tensorflow as tf


def write_moons(path, n=400):
    rng = np.random.default_rng(5)
    angle = rng.uniform(0, np.pi, n)
    label = rng.integers(0, 2, n)
    x = np.where(label, 1 - np.cos(angle), np.cos(angle))
    y = np.where(label, 0.5 - np.sin(angle), np.sin(angle))
    table = np.column_stack([x, y, label]) + np.column_stack([rng.normal(0, 0.1, (n, 2)), np.zeros(n)])
    np.savetxt(path, table, delimiter=",", fmt="%.4f")


def parse(line):
    fields = tf.io.decode_csv(line, [[0.0], [0.0], [0.0]])
    return tf.stack(fields[:2]), fields[2]


model = tf.keras.Sequential([
    tf.keras.layers.Input((2,)),
    tf.keras.layers.Dense(16, activation="tanh"),
    tf.keras.layers.Dense(1),
])
optimizer = tf.keras.optimizers.Adam(1e-2)
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = bce(y[:, None], model(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def train_epoch(ds):
    iterator, losses = iter(ds), []
    while True:
        try:
            x, y = iterator.get_next()
        except tf.errors.OutOfRangeError:
            break
        losses.append(float(step(x, y)))
    return np.mean(losses)


def evaluate(ds):
    iterator, correct, total = iter(ds), 0, 0
    while True:
        try:
            x, y = next(iterator)
        except StopIteration:
            return correct / total
        correct += int(tf.reduce_sum(tf.cast((model(x)[:, 0] > 0) == (y > 0.5), tf.int32)))
        total += len(y)


path = os.path.join(tempfile.mkdtemp(prefix="moons_"), "moons.csv")
write_moons(path)
lines = tf.data.TextLineDataset(path).map(parse)
train_ds, test_ds = lines.take(320).shuffle(320).batch(32), lines.skip(320).batch(40)
for epoch in range(4):
    print(f"epoch {epoch}: loss {train_epoch(train_ds):.4f} accuracy {evaluate(test_ds):.3f}")
