# /// specimen
# cause = "checkpoint_slow"
# also = []
# where = "SAVES HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "checkpoint_each_epoch"
# needs = []
# ///
"""An own loop that calls CheckpointManager.save() after every 20 steps, with 240 MB of weights."""

import sys
import tempfile
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Recommender(tf.Module):
    def __init__(self, users: int, items: int, width: int) -> None:
        super().__init__()
        self.users = tf.Variable(tf.random.normal([users, width], stddev=0.1))
        self.items = tf.Variable(tf.random.normal([items, width], stddev=0.1))

    def score(self, user, item):
        return tf.reduce_sum(tf.gather(self.users, user) * tf.gather(self.items, item), axis=1)


model = Recommender(users=400_000, items=80_000, width=128)


@tf.function
def train_step(user, item, rating):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model.score(user, item) - rating))
    for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables), strict=True):
        variable.scatter_sub(tf.IndexedSlices(0.5 * gradient.values, gradient.indices))
    return loss


def main() -> None:
    users = tf.random.uniform([4_096], maxval=400_000, dtype=tf.int32)
    items = tf.random.uniform([4_096], maxval=80_000, dtype=tf.int32)
    ratings = tf.cast(tf.random.uniform([4_096], maxval=5, dtype=tf.int32), tf.float32)
    dataset = tf.data.Dataset.from_tensor_slices((users, items, ratings)).repeat().batch(64).prefetch(4)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), folder, max_to_keep=1)
        mark()
        for step, (user, item, rating) in enumerate(dataset.take(1_500)):
            loss = train_step(user, item, rating)
            if step % 20 == 0:
                manager.save()  # SAVES HERE
                print(f"step {step} loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
