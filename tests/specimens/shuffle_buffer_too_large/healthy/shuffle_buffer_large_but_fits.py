# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "shuffle_buffer_too_large"
# needs = []
# ///
"""A shuffle buffer of 1.2 GB fills for some ten seconds before the first step; there is ample memory for it."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import keras
import tensorflow as tf

SIDE = 320


def decode(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    seed = tf.stack([index, tf.constant(3, tf.int64)])
    encoded = tf.io.encode_jpeg(tf.cast(tf.random.stateless_uniform((300, 300, 3), seed, maxval=255), tf.uint8))
    image = tf.image.resize(tf.io.decode_jpeg(encoded, channels=3), (SIDE, SIDE), method="bicubic") / 255.0
    label = index % 4
    return image * tf.cast(label + 1, tf.float32) / 4.0, label


def main() -> None:
    images = tf.data.Dataset.range(1_000).map(decode).shuffle(1_000).batch(20).prefetch(1)
    model = keras.Sequential(
        [
            keras.layers.Conv2D(16, 7, strides=2, activation="relu"),
            keras.layers.Conv2D(16, 5, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(images, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
