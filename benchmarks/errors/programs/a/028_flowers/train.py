"""Image folder classification, after the flowers tutorial."""
import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow.keras import layers

IMG_SIZE = (64, 64)
CLASS_NAMES = ["daisy", "dandelion", "roses", "sunflowers", "tulips"]


def download(root, per_class=16):
    rng = np.random.default_rng(2)
    for k, name in enumerate(CLASS_NAMES):
        (root / name).mkdir()
        for i in range(per_class):
            pixels = rng.integers(0, 120, (72, 80, 3), dtype=np.uint8)
            pixels[20:50, 20:60, k % 3] += 40 + 20 * k
            Image.fromarray(pixels).save(root / name / f"{i}.jpg")


def configure(ds):
    return ds.cache().prefetch(tf.data.AUTOTUNE)


data_dir = pathlib.Path(tempfile.mkdtemp(prefix="flowers_"))
download(data_dir)

common = dict(validation_split=0.2, seed=123, image_size=IMG_SIZE, batch_size=16, label_mode="categorical")
train_ds = tf.keras.utils.image_dataset_from_directory(data_dir, subset="training", **common)
val_ds = tf.keras.utils.image_dataset_from_directory(data_dir, subset="validation", **common)
num_classes = len(train_ds.class_names)

augmentation = tf.keras.Sequential([
    layers.RandomFlip("horizontal"),
    layers.RandomRotation(0.1),
])

model = tf.keras.Sequential([
    layers.Input(IMG_SIZE + (3,)),
    augmentation,
    layers.Rescaling(1.0 / 255),
    layers.Conv2D(16, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(num_classes),
])
model.compile(
    optimizer="adam",
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(configure(train_ds), validation_data=configure(val_ds), epochs=2)
