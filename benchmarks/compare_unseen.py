"""Pairs that nothing was tuned to: other models, sizes and frameworks than those that comparing was written with.

They were written and run once before anything was mended by what they showed. At that first look the main cause stood first in
7 of 7, and of 5 amounts of memory 3 were within 10 % of the truth: 29 % off was the batch on PyTorch, whose peaks differ by 7 %
from run to run, 77 % off the blocks of attention, of which most went to the line BLOCKS. A step that others on the machine slowed
was called unexplained. Kinds and limits have been set while looking at them since: they are no blind test any more.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.compare_pairs import Pair, Variant, one_change
from benchmarks.compare_programs import BATCHES, ON_JAX

ON_TORCH = """\
import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np

"""
READ = """\
keras.utils.set_random_seed(3)
stored = np.load("data/train.npz")
pictures, labels = stored["images"], stored["labels"]
"""

RESIDUAL_TORCH = f"""\
{ON_TORCH}BATCH = 16
SIZE = 80
WIDTH = 24
STEPS = 10

{READ}

{BATCHES}        return pictures[rows][:, places][:, :, places].astype("float32") / 127.5 - 1.0, labels[rows]


def block(given):
    inner = keras.layers.SeparableConv2D(WIDTH, 3, padding="same")(given)
    inner = keras.layers.BatchNormalization()(inner)
    return keras.layers.ReLU()(keras.layers.Add()([given, inner]))


inputs = keras.Input((SIZE, SIZE, 3))
features = keras.layers.Conv2D(WIDTH, 3, padding="same")(inputs)
for _ in range(3):
    features = block(features)
outputs = keras.layers.Dense(4)(keras.layers.GlobalMaxPooling2D()(features))
model = keras.Model(inputs, outputs)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.RMSprop(0.001), loss=loss)
model.fit(Batches(), epochs=1, verbose=0)
"""

DENSE_TORCH = f"""\
{ON_TORCH}UNITS = 4200
BATCH = 64

{READ}features = pictures.reshape(len(pictures), -1).astype("float32") / 255.0
model = keras.Sequential([keras.Input((features.shape[1],))])
for _ in range(2):
    model.add(keras.layers.Dense(UNITS, activation="gelu"))
model.add(keras.layers.Dense(4))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.SGD(0.01), loss=loss)
model.fit(features, labels, batch_size=BATCH, epochs=1, verbose=0)
"""

SEGMENTS_JAX = f"""\
{ON_JAX}BATCH = 6
SIZE = 160
FILTERS = 12
STEPS = 10

{READ}

{BATCHES}        images = pictures[rows][:, places][:, :, places].astype("float32") / 255.0
        return images, (images.mean(axis=3, keepdims=True) > 0.35).astype("float32")


def twice(given, filters):
    for _ in range(2):
        given = keras.layers.Conv2D(filters, 3, padding="same", activation="swish")(given)
    return given


inputs = keras.Input((SIZE, SIZE, 3))
fine = twice(inputs, FILTERS)
coarse = twice(keras.layers.AveragePooling2D(2)(fine), 2 * FILTERS)
joined = keras.layers.Concatenate()([fine, keras.layers.UpSampling2D(2)(coarse)])
outputs = keras.layers.Conv2D(1, 1, activation="sigmoid")(twice(joined, FILTERS))
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(0.002), loss="binary_crossentropy")
model.fit(Batches(), epochs=1, verbose=0)
"""

ATTENTION_JAX = f"""\
{ON_JAX}BATCH = 12
BLOCKS = 2
DEPTH = 64

{READ}tokens = pictures[:192].reshape(192, 256, 12).astype("float32") / 255.0
inputs = keras.Input((256, 12))
features = keras.layers.Dense(DEPTH)(inputs)
for _ in range(BLOCKS):
    seen = keras.layers.MultiHeadAttention(4, 16)(features, features)
    features = keras.layers.LayerNormalization()(features + seen)
    features = features + keras.layers.Dense(DEPTH)(keras.layers.Dense(4 * DEPTH, activation="gelu")(features))
outputs = keras.layers.Dense(4)(keras.layers.GlobalAveragePooling1D()(features))
model = keras.Model(inputs, outputs)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.AdamW(0.0005), loss=loss)
model.fit(tokens, labels[:192], batch_size=BATCH, epochs=1, verbose=0)
"""

STREAM_TF = f"""\
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

BATCH = 20
SIZE = 144
RATE = 0.003

{READ}

def prepared(image, label):
    return tf.image.resize(tf.cast(image, tf.float32), (SIZE, SIZE)) / 255.0, label


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = keras.layers.Conv2D(20, 3, activation="relu")
        self.second = keras.layers.Conv2D(20, 3, strides=2, activation="relu")
        self.pool = keras.layers.GlobalAveragePooling2D()
        self.head = keras.layers.Dense(4)

    def call(self, images):
        return self.head(self.pool(self.second(self.first(images))))


dataset = tf.data.Dataset.from_tensor_slices((pictures, labels)).map(prepared, num_parallel_calls=2)
dataset = dataset.batch(BATCH, drop_remainder=True).take(10).prefetch(1)
model = Net()
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.Adam(RATE), loss=loss)
model.fit(dataset, epochs=1, verbose=0)
"""

PROGRAMS = {
    "residual": RESIDUAL_TORCH, "dense": DENSE_TORCH, "segments": SEGMENTS_JAX, "attention": ATTENTION_JAX, "stream": STREAM_TF,
}  # fmt: skip
RESIDUAL, DENSE, SEGMENTS = Variant("residual"), Variant("dense"), Variant("segments")
ATTENTION, STREAM = Variant("attention"), Variant("stream")

MORE_IMAGES = RESIDUAL.with_(("BATCH = 16", "BATCH = 40"))
ADAM = DENSE.with_(("optimizers.SGD(0.01)", "optimizers.AdamW(0.01)"))
WIDER = SEGMENTS.with_(("FILTERS = 12", "FILTERS = 22"))
DEEPER = ATTENTION.with_(("BLOCKS = 2", "BLOCKS = 5"))
LARGER, SLOWER = ("SIZE = 144", "SIZE = 224"), ("RATE = 0.003", "RATE = 0.0001")
AUGMENTED = RESIDUAL.with_(
    (
        "        return pictures",
        "        for _ in range(60):\n            np.random.default_rng(1).normal(size=(8, 96, 96))\n        return pictures",
    )
)

UNSEEN = [
    one_change("torch: batch", RESIDUAL, MORE_IMAGES, "batch 16 → 40", "batch"),
    one_change("torch: optimizer", DENSE, ADAM, "SGD → AdamW", "optimizer"),
    one_change("jax: filters", SEGMENTS, WIDER, "filters 12 → 22", "filters"),
    one_change("jax: deeper", ATTENTION, DEEPER, "three more blocks of attention", "layers"),
    Pair("tensorflow: size and rate", STREAM, STREAM.with_(LARGER, SLOWER), ("image size 144 → 224", "rate"), ("image_size",),
         {"image_size": STREAM.with_(LARGER)}),
    Pair("torch: labels", RESIDUAL, replace(RESIDUAL, data="arrays, labels corrupted"), ("labels shuffled",),
         ("labels", "data_contents")),
    Pair("torch: slower input", RESIDUAL, AUGMENTED, ("noise drawn for each batch",), ("source", "augmentation")),
]  # fmt: skip
UNSEEN_IDENTICAL = {"residual on torch": RESIDUAL, "segments on jax": SEGMENTS}
