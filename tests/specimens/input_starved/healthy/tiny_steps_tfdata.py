# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 30
# near = "input_starved"
# needs = []
# ///
"""Rows are batched without prefetch; a batch takes a fraction of a millisecond, about as long as the tiny step."""

import tensorflow as tf

weights = tf.Variable(tf.zeros([16, 1]))


@tf.function
def train_step(rows, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(rows @ weights - targets))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


def main() -> None:
    rows = tf.random.normal([20_000, 16])
    dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1] * 2 + 1)).shuffle(500).batch(8)
    for epoch in range(4):
        for rows, targets in dataset:
            loss = train_step(rows, targets)
        print(f"epoch {epoch} loss {float(loss):.5f}", flush=True)


if __name__ == "__main__":
    main()
