# /// specimen
# cause = "disk_full"
# also = []
# where = "FULL HERE"
# framework = "loop-tensorflow"
# ends = "crashes"
# seconds = 25
# near = "disk_nearly_full"
# needs = ["root"]
# ///
"""tf.train.Checkpoint keeps every state of an own loop on a small volume until there is no space left on it."""

import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402
from small_disk import mount_small_disk  # noqa: E402

weights = tf.Variable(tf.random.normal([1024, 1024], stddev=0.02))


@tf.function
def train_step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(rows @ weights - rows))
    weights.assign_sub(1.0 * tape.gradient(loss, weights))
    return loss


def main() -> None:
    folder = mount_small_disk(30_000_000)
    saver = tf.train.Checkpoint(weights=weights)
    dataset = tf.data.Dataset.from_tensor_slices(tf.random.normal([4_096, 1024])).repeat().batch(64).prefetch(2)
    mark()
    for step, rows in enumerate(dataset.take(4_000)):
        loss = train_step(rows)
        if step % 150 == 149:
            saver.save(str(folder / "state"))  # FULL HERE
            print(f"step {step} loss {float(loss):.5f}", flush=True)


if __name__ == "__main__":
    main()
