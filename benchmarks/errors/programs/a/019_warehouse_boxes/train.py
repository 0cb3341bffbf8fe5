import json
import pathlib
import tempfile

import cv2
import keras
import numpy as np
from keras import layers

from data import PalletDataset


def export_from_cameras(root, count=40):
    rng = np.random.default_rng(12)
    frames = root / "frames"
    frames.mkdir()
    labels = {}
    for i in range(count):
        camera = "dock" if i % 3 else "gate"
        name = f"{camera}_{i:04d}"
        frame = np.full((120, 160, 3), 90, np.uint8)
        x, y = int(rng.integers(0, 110)), int(rng.integers(0, 80))
        frame[y:y + 35, x:x + 45] = (30, 120, 190)
        suffix = ".jpg" if i != 31 else ".JPG"
        cv2.imwrite(str(frames / (name + suffix)), frame)
        labels[name] = [x / 160, y / 120, 45 / 160, 35 / 120]
    (root / "labels.json").write_text(json.dumps(labels, indent=1))


def build(size):
    inputs = keras.Input((size, size, 3))
    x = layers.Conv2D(12, 5, strides=2, activation="relu")(inputs)
    x = layers.Conv2D(24, 3, strides=2, activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(4, activation="sigmoid")(x))


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="pallets_"))
    export_from_cameras(root)
    train = PalletDataset(root, batch_size=8)
    print(len(train.names), "frames,", len(train), "batches")
    model = build(train.image_size)
    model.compile(optimizer="adam", loss="mse")
    model.fit(train, epochs=2)
    model.save(root / "pallets.keras")


if __name__ == "__main__":
    main()
