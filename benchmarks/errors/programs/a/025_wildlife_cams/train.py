import tempfile

import keras
from keras import layers

from cams import CameraIndex, apply_node_limits, simulate_night


def build_model():
    return keras.Sequential([
        layers.Input((60, 80, 3)),
        layers.Conv2D(16, 5, strides=3, activation="relu"),
        layers.Conv2D(24, 3, strides=2, activation="relu"),
        layers.Flatten(),
        layers.Dense(4),
    ], name="animal_box")


def main():
    apply_node_limits()
    rows = simulate_night(tempfile.mkdtemp(prefix="wildlife_"))
    index = CameraIndex(rows)
    x, y = index.arrays()
    print("shots", x.shape)
    model = build_model()
    model.compile(optimizer="adam", loss="huber")
    model.fit(x, y, validation_split=0.2, batch_size=32, epochs=3)


if __name__ == "__main__":
    main()
