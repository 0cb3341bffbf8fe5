import os
import tempfile

import keras
import numpy as np
from keras import layers
from PIL import Image

from input_pipeline import SIDE, load


def collect_icons():
    root = tempfile.mkdtemp(prefix="icons_")
    rng = np.random.default_rng(14)
    for name in ("arrow", "circle", "square"):
        os.mkdir(os.path.join(root, name))
        for i in range(20):
            mode = "RGBA" if (name, i) == ("circle", 13) else "RGB"
            side = int(rng.integers(40, 80))
            pixels = rng.integers(0, 255, (side, side, len(mode)), dtype=np.uint8)
            Image.fromarray(pixels, mode).save(os.path.join(root, name, f"icon_{i:02d}.png"))
    return root


class IconNet(keras.Model):
    def __init__(self, num_classes):
        super().__init__()
        self.features = keras.Sequential([
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
        ])
        self.head = layers.Dense(num_classes)

    def call(self, inputs, training=False):
        return self.head(self.features(inputs, training=training))


if __name__ == "__main__":
    x, y, classes = load(collect_icons())
    model = IconNet(len(classes))
    model.build((None, SIDE, SIDE, 3))
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(x, y, batch_size=8, epochs=2)
