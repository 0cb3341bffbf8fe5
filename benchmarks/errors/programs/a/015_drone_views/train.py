import os
import tempfile

import keras
import numpy as np
from keras import layers
from PIL import Image

from pipeline import TARGET, build_pipeline


def capture_frames(n=32):
    folder = tempfile.mkdtemp(prefix="drone_")
    rng = np.random.default_rng(9)
    paths, boxes = [], []
    for i in range(n):
        frame = np.full((144, 208, 3), 60, np.uint8)
        x, y = int(rng.integers(0, 160)), int(rng.integers(0, 100))
        frame[y:y + 30, x:x + 40] = (220, 180, 60)
        path = os.path.join(folder, f"frame{i:05d}.jpg")
        Image.fromarray(frame).save(path, quality=90)
        paths.append(path)
        boxes.append([x / 208, y / 144, (x + 40) / 208, (y + 30) / 144])
    return paths, np.array(boxes, np.float32)


def localizer():
    return keras.Sequential([
        layers.Input((TARGET[1], TARGET[0], 3)),
        layers.SeparableConv2D(16, 3, strides=2, activation="relu"),
        layers.SeparableConv2D(32, 3, strides=2, activation="relu"),
        layers.Flatten(),
        layers.Dense(32, activation="relu"),
        layers.Dense(4, activation="sigmoid"),
    ])


if __name__ == "__main__":
    paths, boxes = capture_frames()
    train_ds = build_pipeline(paths[:24], boxes[:24], 8)
    val_ds = build_pipeline(paths[24:], boxes[24:], 8)
    model = localizer()
    model.compile("adam", "mae")
    model.fit(train_ds, validation_data=val_ds, epochs=3)
