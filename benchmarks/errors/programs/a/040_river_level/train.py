"""River level from rain: a recurrent cell written by hand."""
import os
import tempfile

import numpy as np
import tensorflow as tf

STEPS, HIDDEN = 20, 16


class RainCell(tf.Module):
    def __init__(self, features, hidden):
        super().__init__()
        init = tf.keras.initializers.GlorotUniform(seed=1)
        self.w_in = tf.Variable(init((features, hidden)), name="w_in")
        self.w_rec = tf.Variable(init((hidden, hidden)), name="w_rec")
        self.w_out = tf.Variable(init((hidden, 1)), name="w_out")
        self.bias = tf.Variable(tf.zeros((hidden,)), name="bias")
        self.hidden = hidden

    def __call__(self, sequence):
        state = tf.zeros((tf.shape(sequence)[0], self.hidden))
        for t in range(STEPS):
            state = tf.tanh(tf.matmul(sequence[:, t], self.w_in) + tf.matmul(state, self.w_rec) + self.bias)
        return tf.matmul(state, self.w_out)[:, 0]


def write_gauge_log(path, days=500):
    rng = np.random.default_rng(31)
    rain = rng.gamma(0.4, 6.0, days)
    level = np.zeros(days)
    for d in range(1, days):
        level[d] = 0.8 * level[d - 1] + 0.05 * rain[d]
    np.savetxt(path, np.column_stack([rain, level]), delimiter=",", header="rain,level")


def load_windows(path):
    table = np.loadtxt(path, delimiter=",")
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    starts = range(len(table) - STEPS)
    x = np.stack([table[s:s + STEPS] for s in starts])
    y = np.array([table[s + STEPS, 1] for s in starts])
    return x, y


@tf.function
def train_step(cell, optimizer, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(cell(x) - y))
    grads = tape.gradient(loss, cell.trainable_variables)
    optimizer.apply_gradients(zip(grads, cell.trainable_variables))
    return loss


if __name__ == "__main__":
    path = os.path.join(tempfile.mkdtemp(prefix="river_"), "gauge.csv")
    write_gauge_log(path)
    x, y = load_windows(path)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(500).batch(32)
    cell = RainCell(features=2, hidden=HIDDEN)
    optimizer = tf.keras.optimizers.Adam(5e-3)
    for epoch in range(3):
        losses = [float(train_step(cell, optimizer, xb, yb)) for xb, yb in dataset]
        print(f"epoch {epoch} loss {np.mean(losses):.4f}")
