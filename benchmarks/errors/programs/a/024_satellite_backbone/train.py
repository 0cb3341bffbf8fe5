"""Building detector on top of a pretrained four channel backbone."""
import tempfile

import keras
import numpy as np
from keras import layers

from backbone import export_backbone, load_backbone

CELLS = 8


def tiles(n=40):
    rng = np.random.default_rng(77)
    x = rng.normal(0.3, 0.1, (n, 64, 64, 4)).astype("float32")
    y = np.zeros((n, CELLS, CELLS, 5), "float32")
    for i in range(n):
        for _ in range(3):
            r, c = rng.integers(0, CELLS, 2)
            x[i, r * 8:r * 8 + 8, c * 8:c * 8 + 8] += 0.5
            y[i, r, c] = (1.0, 0.5, 0.5, 0.12, 0.12)
    return x, y


def detector(backbone):
    inputs = keras.Input((64, 64, 4))
    features = backbone(inputs)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(features)
    return keras.Model(inputs, layers.Conv2D(5, 1, activation="sigmoid")(x))


def main():
    store = tempfile.mkdtemp(prefix="store_")
    model = detector(load_backbone(export_backbone(store)))
    model.compile(optimizer="rmsprop", loss="binary_crossentropy")
    x, y = tiles()
    model.fit(x, y, batch_size=8, epochs=2, validation_split=0.2)
    model.save(store + "/detector.keras")


if __name__ == "__main__":
    main()
