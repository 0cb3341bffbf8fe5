import os
import tempfile

import keras
import numpy as np
from keras import layers

from lots import ParkingLots


def sample_patches(path, n=96):
    rng = np.random.default_rng(13)
    images = rng.integers(0, 60, (n, 32, 64, 3), dtype=np.uint8)
    occupied = rng.integers(0, 2, (n, 8)).astype("float32")
    for i, slots in enumerate(occupied):
        for k in np.flatnonzero(slots):
            images[i, 6:26, k * 8 + 1:k * 8 + 7] = 200
    boxes = np.tile(np.array([0.5, 0.5, 1.0, 0.6, 0.0], "float32"), (n, 1))
    np.savez(path, images=images, occupied=occupied, boxes=boxes)


def two_heads():
    image = keras.Input((32, 64, 3))
    x = layers.Conv2D(16, 3, strides=2, activation="relu")(image)
    x = layers.Conv2D(32, 3, strides=2, activation="relu")(x)
    x = layers.Flatten()(x)
    slots = layers.Dense(8, activation="sigmoid", name="slots")(x)
    box = layers.Dense(5, name="box")(x)
    return keras.Model(image, {"slots": slots, "box": box})


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="parking_"), "patches.npz")
    sample_patches(path)
    model = two_heads()
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss={"slots": "binary_crossentropy", "box": "mse"},
        loss_weights={"slots": 1.0, "box": 0.1},
    )
    model.fit(ParkingLots(path), epochs=2)


if __name__ == "__main__":
    main()
