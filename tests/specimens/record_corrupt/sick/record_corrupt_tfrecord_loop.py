# /// specimen
# cause = "record_corrupt"
# also = []
# where = "CORRUPT HERE"
# framework = "loop-tensorflow"
# ends = "crashes"
# seconds = 25
# near = "bad_image_skipped"
# needs = []
# ///
"""One byte of a TFRecord shard was flipped in a transfer: its checksum no longer fits and the loop dies there."""

import atexit
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

SHARDS = 4
WIDTH = 128


def write_shards(folder: Path) -> list[str]:
    random = np.random.default_rng(0)
    paths = []
    for number in range(SHARDS):
        path = folder / f"train-{number:05d}-of-{SHARDS:05d}.tfrecord"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for _ in range(3_000):
                writer.write(random.normal(size=WIDTH).astype("float32").tobytes())
        paths.append(str(path))
    return paths


def damage(path: str) -> None:
    content = bytearray(Path(path).read_bytes())
    content[len(content) // 2] ^= 0xFF
    Path(path).write_bytes(content)


@tf.function
def train_step(weights, rows):
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(rows @ weights)
        loss = tf.reduce_mean(tf.square(hidden @ tf.transpose(weights) - rows))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


def main() -> None:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    paths = write_shards(Path(folder))
    damage(paths[2])
    records = tf.data.TFRecordDataset(paths)
    rows = records.map(lambda record: tf.reshape(tf.io.decode_raw(record, tf.float32), [WIDTH])).batch(16)
    weights = tf.Variable(tf.random.normal([WIDTH, 1024], stddev=0.05))
    mark()
    for step, batch in enumerate(rows):  # CORRUPT HERE
        loss = train_step(weights, batch)
        if step % 50 == 0:
            print(f"step {step} loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
