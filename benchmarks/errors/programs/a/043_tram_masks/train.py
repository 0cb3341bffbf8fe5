import os
import tempfile

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from PIL import Image

keras = tf.keras
SIZE = 64


def paint_tracks(root, n=32):
    rng = np.random.default_rng(41)
    for part in ("images", "masks"):
        os.makedirs(os.path.join(root, part))
    for i in range(n):
        image = rng.integers(70, 140, (SIZE, SIZE, 3), dtype=np.uint8)
        mask = np.zeros((SIZE, SIZE, 3), np.uint8)
        column = int(rng.integers(8, 48))
        image[:, column:column + 6] = 30
        mask[:, column:column + 6] = 255
        Image.fromarray(image).save(os.path.join(root, "images", f"{i:03d}.png"))
        Image.fromarray(mask).save(os.path.join(root, "masks", f"{i:03d}.png"))


def read_png(path):
    pixels = tf.io.decode_png(tf.io.read_file(path), channels=3)
    return tf.ensure_shape(tf.cast(pixels, tf.float32) / 255.0, (SIZE, SIZE, 3))


def load_pair(image_path, mask_path):
    image = read_png(image_path)
    mask = read_png(mask_path)
    return image, mask


def dataset(root, batch_size=8):
    def files(part):
        return tf.data.Dataset.list_files(os.path.join(root, part, "*.png"), shuffle=False)

    pairs = tf.data.Dataset.zip((files("images"), files("masks")))
    return pairs.map(load_pair).batch(batch_size)


def tiny_segnet():
    inputs = keras.Input((SIZE, SIZE, 3))
    x = keras.layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    x = keras.layers.UpSampling2D()(x)
    return keras.Model(inputs, keras.layers.Conv2D(1, 1, activation="sigmoid")(x))


def main():
    root = tempfile.mkdtemp(prefix="tram_")
    paint_tracks(root)
    model = tiny_segnet()
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    model.fit(dataset(root), epochs=2)


if __name__ == "__main__":
    main()
