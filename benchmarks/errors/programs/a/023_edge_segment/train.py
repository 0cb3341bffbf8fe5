"""Edge segmentation: tries the GPU with mixed precision, else trains in float32 on the CPU."""
import logging
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("edges")


def scenes(path, n=48):
    rng = np.random.default_rng(44)
    image = rng.uniform(0, 0.2, (n, 40, 40, 1)).astype("float32")
    mask = np.zeros_like(image)
    for i in range(n):
        r, c = rng.integers(4, 20, 2)
        image[i, r:r + 12, c:c + 12] += 0.7
        mask[i, r:r + 12, c:c + 12] = 1.0
        mask[i, r + 1:r + 11, c + 1:c + 11] = 0.0
    np.savez(path, image=image, mask=mask)


def pick_device():
    tf.config.set_soft_device_placement(False)
    try:
        with tf.device("/GPU:0"):
            probe = tf.random.normal((64, 64))
            tf.linalg.matmul(probe, probe).numpy()
        keras.mixed_precision.set_global_policy("mixed_float16")
        return "/GPU:0"
    except (RuntimeError, tf.errors.InvalidArgumentError, tf.errors.InternalError) as e:
        log.warning("GPU is not usable (%s), training on the CPU", type(e).__name__)
        keras.mixed_precision.set_global_policy("float32")
        return "/CPU:0"
    finally:
        tf.config.set_soft_device_placement(True)


def build():
    return keras.Sequential([
        layers.Input((40, 40, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.Conv2D(1, 1, activation="sigmoid", dtype="float32"),
    ])


def compile_model(model):
    try:
        model.compile("adam", "binary_crossentropy", jit_compile=True)
        model.train_on_batch(np.zeros((2, 40, 40, 1), "float32"), np.zeros((2, 40, 40, 1), "float32"))
    except Exception as e:
        log.warning("XLA refused the model (%s)", type(e).__name__)
        model.compile("adam", "binary_crossentropy", jit_compile=False)


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="edges_"), "scenes.npz")
    scenes(path)
    data = np.load(path)
    with tf.device(pick_device()):
        model = build()
        compile_model(model)
        model.fit(data["image"], data["mask"], batch_size=8, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
