# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "host_memory_leaking"
# needs = []
# ///
"""ds.cache() of a set that fits: memory grows through the first epoch, and then the cache is read, not written."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import keras
import tensorflow as tf


def load(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    seed = tf.stack([index, tf.constant(7, tf.int64)])
    encoded = tf.io.encode_jpeg(tf.cast(tf.random.stateless_uniform((256, 256, 3), seed, maxval=255), tf.uint8))
    image = tf.image.resize(tf.io.decode_jpeg(encoded, channels=3), (160, 160)) / 255.0
    label = index % 4
    return image * tf.cast(label + 1, tf.float32) / 4.0, label


def main() -> None:
    images = tf.data.Dataset.range(1_500).map(load).cache().shuffle(100).batch(16).prefetch(2)
    model = keras.Sequential(
        [
            keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(images, epochs=24, verbose=2)


if __name__ == "__main__":
    main()
