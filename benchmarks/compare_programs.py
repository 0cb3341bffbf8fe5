"""The programs that `benchmarks.compare` runs, as a user would write them, and the data that they read."""

from __future__ import annotations

import csv
import random
import shutil
from collections.abc import Callable
from pathlib import Path

# What several of them begin with.
ON_JAX = """\
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
sys.modules["tensorflow"] = None  # Keras would load it beside JAX, where it is installed

import keras
import numpy as np

"""
BATCHES = """\
class Batches(keras.utils.PyDataset):
    def __len__(self):
        return STEPS

    def __getitem__(self, number):
        rows = np.arange(number * BATCH, (number + 1) * BATCH) % len(pictures)
        places = np.arange(SIZE) * pictures.shape[1] // SIZE
"""

IMAGES_JAX = f"""\
{ON_JAX}BATCH = 12
SIZE = 128
FILTERS = 24
RATE = 0.02
STEPS = 12

keras.utils.set_random_seed(1)
stored = np.load("data/train.npz")
pictures, labels = stored["images"], stored["labels"]


{BATCHES}        images = pictures[rows][:, places][:, :, places].astype("float32") / 255.0
        return images, labels[rows]


model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 3)),
        keras.layers.Conv2D(FILTERS, 1, activation="relu"),
        keras.layers.Conv2D(FILTERS, 1, activation="relu"),
        # more layers
        keras.layers.MaxPooling2D(4),
        keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(2),
        keras.layers.Flatten(),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(4),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(RATE, momentum=0.9)
model.compile(optimizer=optimizer, loss=loss)
model.fit(Batches(), epochs=1, verbose=0)
"""

WIDE_JAX = f"""\
{ON_JAX}BATCH = 32
UNITS = 6000
RATE = 0.01

keras.utils.set_random_seed(1)
stored = np.load("data/train.npz")
features = stored["images"][:256].reshape(256, -1).astype("float32") / 255.0
labels = stored["labels"][:256]

model = keras.Sequential(
    [
        keras.Input((features.shape[1],)),
        keras.layers.Dense(UNITS, activation="relu"),
        keras.layers.Dense(2000, activation="relu"),
        keras.layers.Dense(4),
    ]
)
optimizer = keras.optimizers.SGD(RATE)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=optimizer, loss=loss)
model.fit(features, labels, batch_size=BATCH, epochs=1, verbose=0)
"""

FILES_TF = """\
import csv
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

BATCH = 12
SIZE = 96
READERS = 2
RATE = 0.01

keras.utils.set_random_seed(1)
rows = list(csv.reader(open("data/labels.csv")))
paths = ["data/images/" + name for name, _ in rows]
labels = [int(label) for _, label in rows]


def read(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (SIZE, SIZE)) / 255.0, label


dataset = tf.data.Dataset.from_tensor_slices((paths, labels))
dataset = dataset.shuffle(512, seed=1)
dataset = dataset.map(read, num_parallel_calls=READERS)
dataset = dataset.batch(BATCH, drop_remainder=True)
dataset = dataset.prefetch(2)

model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 3)),
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(4),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.Adam(RATE), loss=loss)
model.fit(dataset, epochs=1, verbose=0)
"""

BOXES_TF = f"""\
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
from keras import ops

BATCH = 16
SIZE = 96
CELLS = 48
STEPS = 40

keras.utils.set_random_seed(1)
stored = np.load("data/boxes.npz")
pictures, boxes = stored["images"], stored["boxes"]  # boxes: image, box, (left, top, right, bottom, class + 1); zeros fill up
grid = (np.arange(CELLS) + 0.5) / CELLS
centres = np.stack([np.tile(grid, CELLS), np.repeat(grid, CELLS)], axis=1).astype("float32")
anchors = np.concatenate([centres - 0.08, centres + 0.08], axis=1)


{BATCHES}        return pictures[rows][:, places][:, :, places].astype("float32") / 255.0, boxes[rows]


def overlap(truth):
    low = ops.maximum(anchors[None, :, None, :2], truth[:, None, :, :2])
    high = ops.minimum(anchors[None, :, None, 2:], truth[:, None, :, 2:4])
    sides = ops.maximum(high - low, 0.0)
    shared = sides[..., 0] * sides[..., 1]
    own = (truth[..., 2] - truth[..., 0]) * (truth[..., 3] - truth[..., 1])
    return shared / (own[:, None, :] + 0.0256 - shared + 1e-6)


def detection_loss(truth, predicted):
    best = ops.max(overlap(truth), axis=2)
    wanted = ops.cast(best > 0.3, "float32")
    return ops.mean(ops.binary_crossentropy(wanted, predicted[..., 0], from_logits=True), axis=1)


inputs = keras.Input((SIZE, SIZE, 3))
features = keras.layers.Conv2D(24, 3, strides=2, padding="same", activation="relu")(inputs)
features = keras.layers.Conv2D(5, 1)(features)
outputs = keras.layers.Reshape((CELLS * CELLS, 5))(features)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(0.003), loss=detection_loss, jit_compile=False)
model.fit(Batches(), epochs=1, verbose=0)
"""

LOOP_TF = """\
import sys

import numpy as np
import tensorflow as tf

BATCH = int(sys.argv[1]) if len(sys.argv) > 1 else 32
SIZE = 96
STEPS = 40

tf.random.set_seed(1)
stored = np.load("data/train.npz")
pictures, labels = stored["images"], stored["labels"]
kernel = tf.Variable(tf.random.normal((1, 1, 3, 24), stddev=0.3))
deeper = tf.Variable(tf.random.normal((1, 1, 24, 24), stddev=0.2))
head = tf.Variable(tf.random.normal((24, 4), stddev=0.2))
weights = [kernel, deeper, head]
optimizer = tf.keras.optimizers.SGD(0.05)


@tf.function
def step(images, wanted):
    with tf.GradientTape() as tape:
        features = tf.nn.relu(tf.nn.conv2d(images, kernel, 1, "SAME"))
        features = tf.nn.relu(tf.nn.conv2d(features, deeper, 1, "SAME"))
        logits = tf.reduce_mean(features, axis=(1, 2)) @ head
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, logits))
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


for number in range(STEPS):
    rows = np.arange(number * BATCH, (number + 1) * BATCH) % len(pictures)
    places = np.arange(SIZE) * pictures.shape[1] // SIZE
    step(tf.constant(pictures[rows][:, places][:, :, places] / 255.0, tf.float32), tf.constant(labels[rows], tf.int32))
"""

PROGRAMS = {"images": IMAGES_JAX, "wide": WIDE_JAX, "files": FILES_TF, "boxes": BOXES_TF, "loop": LOOP_TF}

# A package of somebody else's, in two versions: the newer one works harder for the same.
PACKAGE = """\
import numpy as np


def prepared(images):
    for _ in range({rounds}):
        images = np.clip(np.sqrt(images * images), 0.0, 1.0)
    return images
"""
METADATA = "Metadata-Version: 2.1\nName: picturekit\nVersion: {version}\n"


def write_package(folder: Path, version: str, rounds: int) -> None:
    """Installed as pip would: the package, and beside it what says its version."""
    package, result = folder / "picturekit", folder / f"picturekit-{version}.dist-info"
    package.mkdir(parents=True)
    result.mkdir()
    (package / "__init__.py").write_text(PACKAGE.format(rounds=rounds))
    (result / "METADATA").write_text(METADATA.format(version=version))
    (result / "RECORD").write_text("picturekit/__init__.py,,\n")
    (result / "top_level.txt").write_text("picturekit\n")


def write_arrays(folder: Path, corrupted: bool = False) -> None:
    """512 pictures of four classes, which differ in colour and place."""
    import numpy as np

    folder.mkdir(parents=True)
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 4, 512)
    images = rng.integers(0, 90, (512, 32, 32, 3))
    for number, label in enumerate(labels):
        images[number, :, :, label % 3] += 60
        images[number, 8 * label : 8 * label + 8] += 80
    if corrupted:
        labels = np.random.default_rng(7).permutation(labels)
    np.savez(folder / "train.npz", images=images.astype("uint8"), labels=labels.astype("int32"))


def write_boxes(folder: Path, most: int) -> None:
    """128 pictures with up to so many boxes."""
    import numpy as np

    folder.mkdir(parents=True)
    rng = np.random.default_rng(5)
    images = rng.integers(0, 255, (128, 32, 32, 3)).astype("uint8")
    low = rng.uniform(0.0, 0.8, (128, most, 2))
    sides = rng.uniform(0.1, 0.2, (128, most, 2))
    boxes = np.concatenate([low, low + sides, np.ones((128, most, 1))], axis=2)
    counts = rng.integers(most // 2, most + 1, 128)
    boxes[np.arange(most)[None, :] >= counts[:, None]] = 0.0
    np.savez(folder / "boxes.npz", images=images, boxes=boxes.astype("float32"))


def write_files(folder: Path, large: int = 0, corrupted: bool = False, images: int = 144) -> None:
    """Photographs of 640 by 480, and some as a camera of today takes them, with a list of their classes."""
    import cv2
    import numpy as np

    (folder / "images").mkdir(parents=True)
    rng = np.random.default_rng(5)
    rows = []
    for number in range(images + large):
        label = number % 4
        width, height = (5200, 3900) if number >= images else (640, 480)
        small = rng.integers(0, 120, (height // 8, width // 8, 3)).astype("uint8")
        small[:, :, label % 3] += 100
        picture = cv2.resize(small, (width, height))
        cv2.imwrite(str(folder / "images" / f"{number:04}.jpg"), picture)
        rows.append([f"{number:04}.jpg", label])
    if corrupted:
        wrong = [label for _, label in rows]
        random.Random(3).shuffle(wrong)
        rows = [[name, label] for (name, _), label in zip(rows, wrong, strict=True)]
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)


DATA: dict[str, Callable[[Path], None]] = {
    "arrays": write_arrays,
    "arrays, labels corrupted": lambda folder: write_arrays(folder, corrupted=True),
    "boxes, 6": lambda folder: write_boxes(folder, 6),
    "boxes, 90": lambda folder: write_boxes(folder, 90),
    "files": write_files,
    "files, large ones": lambda folder: write_files(folder, large=6),
    "files, labels corrupted": lambda folder: write_files(folder, corrupted=True),
}


def write_data(name: str, work: Path) -> Path:
    """Made once; later it lies there."""
    folder = work / "data" / name.replace(", ", "-").replace(" ", "-")
    if not folder.exists():
        aside = folder.with_name(f".{folder.name}.new")
        shutil.rmtree(aside, ignore_errors=True)
        DATA[name](aside)
        aside.rename(folder)
    return folder
