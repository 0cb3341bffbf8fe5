import os
import tempfile

import keras
import tensorflow as tf
from keras import layers

import records

BATCH = 8


def build():
    image = keras.Input((records.SIZE, records.SIZE, 3))
    x = layers.Rescaling(2.0, offset=-1.0)(image)
    for f in (16, 32):
        x = layers.Conv2D(f, 3, strides=2, activation="relu")(x)
    x = layers.GlobalMaxPooling2D()(x)
    return keras.Model(image, {
        "box": layers.Dense(4, activation="sigmoid", name="box")(x),
        "sign": layers.Dense(3, activation="softmax", name="sign")(x),
    })


def input_fn(pattern):
    files = tf.data.Dataset.list_files(pattern, shuffle=False)
    ds = files.interleave(tf.data.TFRecordDataset, cycle_length=2)
    ds = ds.map(records.parse, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(BATCH).prefetch(1)


def main():
    root = tempfile.mkdtemp(prefix="signs_")
    for shard in range(2):
        records.write(os.path.join(root, f"train-{shard:05d}-of-00002.tfrecord"), 24, seed=shard)
    model = build()
    model.compile("adam", loss={"box": "mae", "sign": "sparse_categorical_crossentropy"})
    model.fit(input_fn(os.path.join(root, "train-*.tfrecord")), epochs=2)


if __name__ == "__main__":
    main()
