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
"""A compiled train step fed by a pipeline that decodes large photographs one after another."""

import sys
import tempfile
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Regressor(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kernel = tf.Variable(tf.random.normal([5, 5, 3, 8], stddev=0.1))
        self.head = tf.Variable(tf.random.normal([8, 1], stddev=0.1))

    def __call__(self, pictures):
        hidden = tf.nn.relu(tf.nn.conv2d(pictures, self.kernel, strides=4, padding="SAME"))
        return tf.reduce_mean(hidden, [1, 2]) @ self.head


model = Regressor()


@tf.function
def train_step(pictures, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(pictures) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        variable.assign_sub(0.05 * gradient)
    return loss


def write_photographs(folder: str, count: int) -> None:
    for number in range(count):
        small = tf.random.uniform([40, 40, 3], maxval=255)
        picture = tf.cast(tf.image.resize(small, [1400, 1400]), tf.uint8)
        tf.io.write_file(f"{folder}/{number}.jpg", tf.io.encode_jpeg(picture, quality=97))


def read_photograph(path):
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, dct_method="INTEGER_ACCURATE")
    picture = tf.image.resize(picture, [128, 128]) / 255.0
    return picture, tf.reduce_mean(picture, [0, 1])[:1]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_photographs(folder, 24)
        paths = tf.data.Dataset.list_files(f"{folder}/*.jpg").repeat()
        batches = (
            paths.shuffle(24)
            .map(read_photograph)  # STARVED HERE
            .batch(16)
        )
        mark()
        for step, (pictures, targets) in enumerate(batches.take(140)):
            loss = train_step(pictures, targets)
            if step % 25 == 0:
                tf.print("step", step, "loss", loss)


if __name__ == "__main__":
    main()
