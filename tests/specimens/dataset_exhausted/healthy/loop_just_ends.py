# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 30
# near = "dataset_exhausted"
# needs = []
# ///
"""An own loop goes through a parallel, prefetched pipeline three times and ends when the data end."""

import tensorflow as tf

weights = [tf.Variable(tf.random.normal([784, 2048], stddev=0.02)), tf.Variable(tf.random.normal([2048, 10], stddev=0.02))]


def noisy(picture, label):
    return picture + tf.random.normal([784], stddev=0.05), label


@tf.function
def train_step(pictures, labels):
    with tf.GradientTape() as tape:
        logits = tf.nn.relu(pictures @ weights[0]) @ weights[1]
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    for variable, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
        variable.assign_sub(0.05 * gradient)
    return loss


def main() -> None:
    centres = tf.random.normal([10, 784])
    labels = tf.random.uniform([16_000], maxval=10, dtype=tf.int32)
    pictures = tf.gather(centres, labels) + tf.random.normal([16_000, 784])
    dataset = tf.data.Dataset.from_tensor_slices((pictures, labels)).shuffle(4_000)
    dataset = dataset.map(noisy, num_parallel_calls=tf.data.AUTOTUNE).batch(32).prefetch(tf.data.AUTOTUNE)
    for epoch in range(3):
        for step, (batch, targets) in enumerate(dataset):
            loss = train_step(batch, targets)
            if step % 100 == 0:
                print(f"epoch {epoch} step {step} loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
