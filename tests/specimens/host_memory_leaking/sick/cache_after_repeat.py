# /// specimen
# cause = "host_memory_leaking"
# also = []
# where = "CACHES WITHOUT END"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "cache_of_small_set"
# needs = []
# ///
"""The pipeline caches after repeat(): the cache never becomes complete and keeps every image it is ever given."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import keras
import tensorflow as tf
from onset import mark

IMAGES = 500


def load(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    image = tf.random.stateless_uniform((40, 40, 3), seed=tf.stack([index, tf.constant(7, tf.int64)]))
    label = index % 10
    return image * tf.cast(label + 1, tf.float32) / 10.0, label


def make_dataset() -> tf.data.Dataset:
    images = tf.data.Dataset.range(IMAGES).shuffle(IMAGES).repeat().map(load, num_parallel_calls=2)
    images = images.cache()  # CACHES WITHOUT END
    return images.batch(16).prefetch(2)


def main() -> None:
    model = keras.Sequential(
        [
            keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    mark()
    model.fit(make_dataset(), steps_per_epoch=IMAGES // 16, epochs=250, verbose=2)


if __name__ == "__main__":
    main()
