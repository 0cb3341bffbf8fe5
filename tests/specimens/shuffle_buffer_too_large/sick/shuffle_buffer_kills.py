# /// specimen
# cause = "shuffle_buffer_too_large"
# also = ["host_memory_exhausted", "shuffle_buffer_filling"]
# where = "TOO LARGE HERE"
# framework = "keras-tensorflow"
# ends = "is killed"
# seconds = 40
# near = "shuffle_buffer_large_but_fits"
# needs = ["root", "cgroup-memory"]
# ///
"""Shuffles decoded images: 2,048 of them need 2.5 GB, the container has 1.6. It is killed while the buffer fills."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import small_machine

small_machine.limit_memory(1_600_000_000)

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402
from onset import mark  # noqa: E402

SIDE = 320


def decode(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    seed = tf.stack([index, tf.constant(3, tf.int64)])
    encoded = tf.io.encode_jpeg(tf.cast(tf.random.stateless_uniform((300, 300, 3), seed, maxval=255), tf.uint8))
    image = tf.image.resize(tf.io.decode_jpeg(encoded, channels=3), (SIDE, SIDE), method="bicubic") / 255.0
    return image, tf.cast(index % 10, tf.int32)


def make_dataset() -> tf.data.Dataset:
    images = tf.data.Dataset.range(5_000).map(decode)
    images = images.shuffle(2_048)  # TOO LARGE HERE
    return images.batch(16).prefetch(1)


def main() -> None:
    model = keras.Sequential(
        [
            keras.layers.Conv2D(4, 7, strides=8, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    mark()
    model.fit(make_dataset(), epochs=2, verbose=2)


if __name__ == "__main__":
    main()
