import logging
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from storage import PlateStore

logging.basicConfig(level=logging.WARNING)


def scan_plates(root, n=40):
    rng = np.random.default_rng(3)
    for i in range(n):
        wells = rng.integers(0, 2, 12).astype("float32")
        plate = rng.normal(0.1, 0.05, (24, 32, 1)).astype("float32")
        for k in np.flatnonzero(wells):
            r, c = divmod(int(k), 4)
            plate[r * 8 + 2:r * 8 + 6, c * 8 + 2:c * 8 + 6] += 0.7
        np.savez(root / f"plate_{i:03d}.npz", plate=plate, wells=wells)


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="plates_"))
    scan_plates(root)
    store = PlateStore(root)
    names = sorted(p.name for p in root.glob("*.npz"))

    def examples():
        for name in names:
            yield store.read(name)

    ds = tf.data.Dataset.from_generator(examples, output_signature=(
        tf.TensorSpec((24, 32, 1), tf.float32), tf.TensorSpec((12,), tf.float32))).batch(8)
    model = keras.Sequential([
        layers.Input((24, 32, 1)),
        layers.Conv2D(8, 4, strides=4, activation="relu"),
        layers.Flatten(),
        layers.Dense(12, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy")
    model.fit(ds, epochs=2, verbose=2)
    print("reads", store.calls)


if __name__ == "__main__":
    main()
