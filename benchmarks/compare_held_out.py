"""Pairs that were written before amounts of memory and the noise of time were mended, and compared before and after it.

At the first look the main cause stood first in 6 of 7, and 4 of 5 amounts of memory were within 10 %; after that work in
6 and 3 (a peak on PyTorch 12 % off, within what was told). What they then showed was mended: the rate of another optimizer
was taken for the main cause, channels that a mixer turns round for other layers (33 % off), and a pause in the input went unsaid,
as the machine was full. They are no blind test since: 7 of 7, and 4 of 5. The last three were written when all was done: at the
only look the main cause stood first in 3 of 3, and 2 of 3 amounts were within 10 % (of attention over a larger batch a part stays
unexplained, as Keras tells no shape of what is inside).
"""

from __future__ import annotations

from benchmarks.compare_pairs import Pair, Variant, one_change
from benchmarks.compare_programs import BATCHES, ON_JAX
from benchmarks.compare_unseen import ATTENTION, ON_TORCH, READ, SEGMENTS, STREAM

ON_TENSORFLOW = """\
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

"""
CLASSIFIED = "loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)\n"

LETTERS_TF = f"""\
{ON_TENSORFLOW}BATCH = 24
CHANNELS = 48

{READ}letters = pictures.reshape(len(pictures), -1)[:480].astype("int32")
model = keras.Sequential([keras.Input((letters.shape[1],), dtype="int32"), keras.layers.Embedding(256, CHANNELS)])
for width in (7, 5, 3):
    model.add(keras.layers.Conv1D(CHANNELS, width, padding="same", activation="relu"))
model.add(keras.layers.GlobalMaxPooling1D())
model.add(keras.layers.Dense(4))
{CLASSIFIED}model.compile(optimizer=keras.optimizers.Nadam(0.002), loss=loss)
model.fit(letters, labels[:480], batch_size=BATCH, epochs=1, verbose=0)
"""

AUTOENCODER_TF = f"""\
{ON_TENSORFLOW}UNITS = 5000

{READ}features = pictures.reshape(len(pictures), -1)[:384].astype("float32") / 255.0
inputs = keras.Input((features.shape[1],))
narrow = keras.layers.Dense(UNITS, activation="relu")(inputs)
outputs = keras.layers.Dense(features.shape[1], activation="sigmoid")(narrow)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
model.fit(features, features, batch_size=32, epochs=1, verbose=0)
"""

POOLED_TORCH = f"""\
{ON_TORCH}BATCH = 20
SIZE = 72
STEPS = 10

{READ}

{BATCHES}        return pictures[rows][:, places][:, :, places].astype("float32") / 255.0, labels[rows]


model = keras.Sequential([keras.Input((SIZE, SIZE, 3))])
for filters in (16, 32, 64):
    model.add(keras.layers.Conv2D(filters, 3, padding="same", activation="relu"))
    model.add(keras.layers.Conv2D(filters, 3, padding="same", activation="relu"))
    model.add(keras.layers.MaxPooling2D(2))
model.add(keras.layers.GlobalAveragePooling2D())
model.add(keras.layers.Dense(4))
{CLASSIFIED}model.compile(optimizer=keras.optimizers.SGD(0.02, momentum=0.9), loss=loss)
model.fit(Batches(), epochs=1, verbose=0)
"""

MIXER_JAX = f"""\
{ON_JAX}UNITS = 96
BATCH = 24

{READ}patches = pictures[:288].reshape(288, 256, 12).astype("float32") / 255.0


def mixed(given):
    across = keras.layers.Permute((2, 1))(keras.layers.LayerNormalization()(given))
    across = keras.layers.Dense(256)(keras.layers.Dense(256, activation="gelu")(across))
    given = given + keras.layers.Permute((2, 1))(across)
    inner = keras.layers.Dense(2 * UNITS, activation="gelu")(keras.layers.LayerNormalization()(given))
    return given + keras.layers.Dense(UNITS)(inner)


inputs = keras.Input((256, 12))
features = keras.layers.Dense(UNITS)(inputs)
for _ in range(3):
    features = mixed(features)
outputs = keras.layers.Dense(4)(keras.layers.GlobalAveragePooling1D()(features))
model = keras.Model(inputs, outputs)
{CLASSIFIED}model.compile(optimizer=keras.optimizers.Adam(0.001), loss=loss)
model.fit(patches, labels[:288], batch_size=BATCH, epochs=1, verbose=0)
"""

DEPTHWISE_TORCH = f"""\
{ON_TORCH}BATCH = 24
SIZE = 64
BLOCKS = 3
STEPS = 10

{READ}

{BATCHES}        return pictures[rows][:, places][:, :, places].astype("float32") / 255.0, labels[rows]


inputs = keras.Input((SIZE, SIZE, 3))
features = keras.layers.Conv2D(32, 3, padding="same")(inputs)
for _ in range(BLOCKS):
    inner = keras.layers.LayerNormalization()(keras.layers.DepthwiseConv2D(5, padding="same")(features))
    features = features + keras.layers.Conv2D(32, 1)(keras.layers.Conv2D(64, 1, activation="gelu")(inner))
outputs = keras.layers.Dense(4)(keras.layers.GlobalAveragePooling2D()(features))
model = keras.Model(inputs, outputs)
{CLASSIFIED}model.compile(optimizer=keras.optimizers.AdamW(0.002), loss=loss)
model.fit(Batches(), epochs=1, verbose=0)
"""

PROGRAMS = {
    "letters": LETTERS_TF, "autoencoder": AUTOENCODER_TF, "pooled": POOLED_TORCH, "mixer": MIXER_JAX,
    "depthwise": DEPTHWISE_TORCH,
}  # fmt: skip
LETTERS, AUTOENCODER, POOLED = Variant("letters"), Variant("autoencoder"), Variant("pooled")
MIXER, DEPTHWISE = Variant("mixer"), Variant("depthwise")

SQUARES = (CLASSIFIED, "loss = keras.losses.MeanSquaredError()\n")
ONE_HOT = ("labels[:480], batch_size", "np.eye(4)[labels[:480]], batch_size")
PAUSED = (
    ("import numpy as np\n", "import time\n\nimport numpy as np\n"),
    ("        return pictures", "        time.sleep(0.4)\n        return pictures"),
)

HELD_OUT = [
    one_change("letters: batch", LETTERS, LETTERS.with_(("BATCH = 24", "BATCH = 72")), "batch 24 → 72", "batch"),
    one_change("autoencoder: optimizer", AUTOENCODER, AUTOENCODER.with_(("SGD(0.1)", "Adam(0.001)")), "SGD → Adam", "optimizer"),
    one_change("pooled: image size", POOLED, POOLED.with_(("SIZE = 72", "SIZE = 120")), "image size 72 → 120", "image_size"),
    one_change("mixer: units", MIXER, MIXER.with_(("UNITS = 96", "UNITS = 224")), "units 96 → 224", "filters"),
    one_change("depthwise: deeper", DEPTHWISE, DEPTHWISE.with_(("BLOCKS = 3", "BLOCKS = 7")), "four more blocks", "layers"),
    Pair("letters: loss", LETTERS, LETTERS.with_(SQUARES, ONE_HOT), ("cross-entropy → squares",), ("loss",)),
    Pair("pooled: slower input", POOLED, POOLED.with_(*PAUSED), ("a pause of 0.4 s in each batch",), ("source",)),
    one_change("stream: batch", STREAM, STREAM.with_(("BATCH = 20", "BATCH = 48")), "batch 20 → 48", "batch"),
    one_change("segments: image size", SEGMENTS, SEGMENTS.with_(("SIZE = 160", "SIZE = 240")), "size 160 → 240", "image_size"),
    one_change("attention: batch", ATTENTION, ATTENTION.with_(("BATCH = 12", "BATCH = 32")), "batch 12 → 32", "batch"),
]  # fmt: skip
