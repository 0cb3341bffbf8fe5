import glob
import os
import tempfile

import keras
import numpy as np
from keras import layers
from PIL import Image

import dataset


def render_roads(n=32):
    root = tempfile.mkdtemp(prefix="roads_")
    rng = np.random.default_rng(22)
    for i in range(n):
        image = rng.integers(60, 120, (64, 64, 3), dtype=np.uint8)
        mask = np.zeros((64, 64), np.uint8)
        left = int(rng.integers(10, 30))
        mask[:, left:left + 20] = 1
        mask[:, left + 9:left + 11] = 2
        image[mask == 1] = 40
        image[mask == 2] = 230
        Image.fromarray(image).save(os.path.join(root, f"img_{i:03d}.png"))
        Image.fromarray(mask).save(os.path.join(root, f"seg_{i:03d}.png"))
    return root


def segmenter(classes):
    inputs = keras.Input((dataset.SIZE, dataset.SIZE, 3))
    down = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(down)
    x = layers.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Concatenate()([x, down])
    x = layers.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu")(x)
    return keras.Model(inputs, layers.Conv2D(classes, 1, activation="softmax")(x))


if __name__ == "__main__":
    root = render_roads()
    images = sorted(glob.glob(root + "/img_*.png"))
    masks = sorted(glob.glob(root + "/seg_*.png"))
    val_ds = dataset.make(images[24:], masks[24:], 8, training=False)
    train_ds = dataset.make(images[:24], masks[:24], 8, training=True)
    model = segmenter(len(dataset.CLASS_WEIGHTS))
    model.compile("adam", "sparse_categorical_crossentropy", weighted_metrics=["accuracy"])
    model.fit(train_ds, validation_data=val_ds, epochs=2)
