# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "generator_blocked"
# needs = []
# ///
"""tf.data map over files with a numpy_function. Some files must come back from cold storage, which takes 3 s; the pipeline
waits for each and goes on."""

import os
import tempfile
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf

folder = Path(tempfile.mkdtemp(prefix="scans-"))
for number in range(200):
    np.random.default_rng(number).normal(size=(32, 10)).astype("float32").tofile(folder / f"scan{number:03}.bin")
names = sorted(str(path) for path in folder.iterdir())


def load_scan(name: bytes) -> np.ndarray:
    time.sleep(0.02)
    if name.endswith(b"50.bin"):
        time.sleep(3)  # recalled from tape
    return np.fromfile(name.decode(), dtype="float32").reshape(32, 10)


def as_tensors(name):
    scan = tf.ensure_shape(tf.numpy_function(load_scan, [name], tf.float32), (32, 10))
    return scan[:, :9], scan[:, 9:]


dataset = tf.data.Dataset.from_tensor_slices(names).map(as_tensors, num_parallel_calls=2).prefetch(2)
kernel = tf.Variable(tf.random.normal((9, 1)))


@tf.function
def train_step(features, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((features @ kernel - labels) ** 2)
    kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
    return loss


for epoch in range(3):
    for features, labels in dataset:
        loss = train_step(features, labels)
        time.sleep(0.02)
    print(f"epoch {epoch} loss {float(loss):.4f}", flush=True)
for name in names:
    os.unlink(name)
folder.rmdir()
