"""TFRecord files in the layout of the object detection API."""
import io

import numpy as np
import tensorflow as tf
from PIL import Image

SIZE = 64


def _floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def _ints(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def write(path, count, seed=2):
    rng = np.random.default_rng(seed)
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(count):
            buf = io.BytesIO()
            Image.fromarray(rng.integers(0, 255, (SIZE, SIZE, 3), dtype=np.uint8)).save(buf, "PNG")
            n = int(rng.integers(2, 5))
            low = rng.uniform(0.0, 0.5, (n, 2))
            high = low + rng.uniform(0.1, 0.4, (n, 2))
            example = tf.train.Example(features=tf.train.Features(feature={
                "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[buf.getvalue()])),
                "image/object/bbox/xmin": _floats(low[:, 0]),
                "image/object/bbox/ymin": _floats(low[:, 1]),
                "image/object/bbox/xmax": _floats(high[:, 0]),
                "image/object/bbox/ymax": _floats(high[:, 1]),
                "image/object/class/label": _ints(rng.integers(0, 3, n)),
            }))
            writer.write(example.SerializeToString())


FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/object/bbox/xmin": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/ymin": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/xmax": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/ymax": tf.io.VarLenFeature(tf.float32),
    "image/object/class/label": tf.io.FixedLenFeature([], tf.int64),
}


def parse(serialized):
    parsed = tf.io.parse_single_example(serialized, FEATURES)
    image = tf.io.decode_png(parsed["image/encoded"], channels=3)
    image = tf.reshape(tf.image.convert_image_dtype(image, tf.float32), (SIZE, SIZE, 3))
    sides = [tf.sparse.to_dense(parsed[f"image/object/bbox/{k}"]) for k in ("xmin", "ymin", "xmax", "ymax")]
    boxes = tf.stack(sides, axis=-1)
    label = tf.reshape(parsed["image/object/class/label"], [-1])[0]
    return image, {"box": boxes[0], "sign": label}
