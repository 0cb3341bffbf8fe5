"""Fruit basket pictures: JPEG files plus one JSON file with the boxes."""
import json
import pathlib

import numpy as np
import tensorflow as tf
from PIL import Image

IMG_SIZE = 96
MAX_BOXES = 6


def write_sample_data(root, count, seed=3):
    root = pathlib.Path(root)
    rng = np.random.default_rng(seed)
    index = []
    for i in range(count):
        pixels = rng.integers(0, 70, (IMG_SIZE, IMG_SIZE, 3), dtype=np.uint8)
        boxes = []
        for _ in range(int(rng.integers(1, 5))):
            w, h = rng.integers(12, 30, 2)
            x, y = rng.integers(0, IMG_SIZE - 32, 2)
            pixels[y:y + h, x:x + w] = rng.integers(120, 255, 3)
            boxes.append([int(x), int(y), int(x + w), int(y + h)])
        name = f"basket_{i:03d}.jpg"
        Image.fromarray(pixels).save(root / name)
        index.append({"file": name, "boxes": boxes})
    (root / "boxes.json").write_text(json.dumps(index))


def make_dataset(root, batch_size):
    root = pathlib.Path(root)
    index = json.loads((root / "boxes.json").read_text())

    def examples():
        for entry in index:
            yield str(root / entry["file"]), np.array(entry["boxes"], np.float32)

    def load(path, boxes):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        image = tf.ensure_shape(image, (IMG_SIZE, IMG_SIZE, 3))
        return tf.cast(image, tf.float32) / 255.0, boxes / IMG_SIZE

    signature = (tf.TensorSpec((), tf.string), tf.TensorSpec((None, 4), tf.float32))
    ds = tf.data.Dataset.from_generator(examples, output_signature=signature)
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(batch_size, drop_remainder=True)
    return ds.prefetch(tf.data.AUTOTUNE)
