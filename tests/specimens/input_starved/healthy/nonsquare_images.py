# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "tf_keras"
# ends = "exits"
# seconds = 35
# near = "input_starved"
# needs = []
# ///
"""Pictures of 90 by 200 pixels in Keras 2, decoded in parallel ahead of a model that is the slower part."""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf
import tf_keras


def encode_pictures(count: int) -> list[bytes]:
    noise = tf.cast(tf.random.uniform([count, 90, 200, 3], maxval=255), tf.uint8)
    return [tf.io.encode_jpeg(picture).numpy() for picture in noise]


def decode(encoded):
    picture = tf.cast(tf.io.decode_jpeg(encoded, channels=3), tf.float32) / 255.0
    picture = tf.ensure_shape(picture, [90, 200, 3])
    return picture, tf.reduce_mean(picture[:, :100])


def main() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(encode_pictures(200)).repeat()
    dataset = dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(8).prefetch(tf.data.AUTOTUNE)
    model = tf_keras.Sequential(
        [
            tf_keras.layers.Conv2D(24, (3, 5), activation="relu"),
            tf_keras.layers.Conv2D(24, (3, 5), strides=2, activation="relu"),
            tf_keras.layers.GlobalAveragePooling2D(),
            tf_keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    model.fit(dataset, steps_per_epoch=40, epochs=6, verbose=2)


if __name__ == "__main__":
    main()
