# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "loop-tensorflow"
# ends = "hangs"
# seconds = 30
# near = "map_waits_for_cold_files"
# needs = []
# ///
"""tf.data map over file names with a numpy_function. One of the names is a named pipe left behind by another program:
opening it for reading waits for a writer that does not exist. The step is a tf.function."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

folder = Path(tempfile.mkdtemp(prefix="scans-"))
for number in range(60):
    np.random.default_rng(number).normal(size=(32, 10)).astype("float32").tofile(folder / f"scan{number:03}.bin")
os.mkfifo(folder / "scan060.bin")
names = sorted(str(path) for path in folder.iterdir())


def load_scan(name: bytes) -> np.ndarray:
    if name.endswith(b"060.bin"):
        mark()
    with open(name, "rb") as file:  # BLOCKED HERE
        return np.frombuffer(file.read(), dtype="float32").reshape(32, 10)


def as_tensors(name):
    scan = tf.ensure_shape(tf.numpy_function(load_scan, [name], tf.float32), (32, 10))
    return scan[:, :9], scan[:, 9:]


dataset = tf.data.Dataset.from_tensor_slices(names[:60]).repeat(20)
dataset = dataset.concatenate(tf.data.Dataset.from_tensor_slices(names))
dataset = dataset.map(as_tensors, num_parallel_calls=2).prefetch(tf.data.AUTOTUNE)
kernel = tf.Variable(tf.random.normal((9, 1)))


@tf.function
def train_step(features, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((features @ kernel - labels) ** 2)
    kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
    return loss


for epoch in range(100):
    for features, labels in dataset:
        loss = train_step(features, labels)
    print(f"epoch {epoch} loss {float(loss):.4f}", flush=True)
