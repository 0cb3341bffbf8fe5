"""Trains a tiny one-stage detector from YOLO text labels."""
import glob
import os
import tempfile

import keras
import numpy as np
import tensorflow as tf
from PIL import Image

SIZE = 64
MAX_BOXES = 4
BATCH = 8


def make_yolo_folder(count=48):
    root = tempfile.mkdtemp(prefix="yolo_")
    rng = np.random.default_rng(21)
    os.makedirs(f"{root}/images")
    os.makedirs(f"{root}/labels")
    for i in range(count):
        pixels = rng.integers(0, 80, (SIZE, SIZE, 3), dtype=np.uint8)
        lines = []
        for _ in range(rng.integers(1, MAX_BOXES + 1)):
            x, y, w, h = rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.7), 0.2, 0.25
            lines.append(f"{rng.integers(0, 3)} {x:.5f} {y:.5f} {w:.5f} {h:.5f}")
        Image.fromarray(pixels).save(f"{root}/images/{i:04d}.png")
        with open(f"{root}/labels/{i:04d}.txt", "w") as f:
            f.write("\n".join(lines) + "\n")
    return root


def read_pair(image_path):
    label_path = image_path.replace("/images/", "/labels/").replace(".png", ".txt")
    image = np.asarray(Image.open(image_path), dtype=np.float32) / 255.0
    boxes = np.loadtxt(label_path, dtype=np.float32, ndmin=2)
    return image, boxes


def create_dataset(root):
    paths = sorted(glob.glob(f"{root}/images/*.png"))

    def generator():
        for path in paths:
            image, boxes = read_pair(path)
            yield image, boxes

    def pad(image, boxes):
        missing = MAX_BOXES - tf.shape(boxes)[0]
        boxes = tf.pad(boxes, [[0, missing], [0, 0]])
        return image, tf.ensure_shape(boxes, (MAX_BOXES, 4))

    ds = tf.data.Dataset.from_generator(
        generator,
        output_signature=(
            tf.TensorSpec(shape=(SIZE, SIZE, 3), dtype=tf.float32),
            tf.TensorSpec(shape=(None, 4), dtype=tf.float32),
        ),
    )
    return ds.map(pad).batch(BATCH)


model = keras.Sequential([
    keras.layers.Input((SIZE, SIZE, 3)),
    keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(MAX_BOXES * 4, activation="sigmoid"),
    keras.layers.Reshape((MAX_BOXES, 4)),
])
model.compile(optimizer="adam", loss="mae")
model.fit(create_dataset(make_yolo_folder()), epochs=2)
