import pathlib
import tempfile

import keras
from keras import layers

from frames import load_drive, record_drive


def box_net():
    image = keras.Input((48, 64, 3))
    x = layers.Conv2D(16, 3, strides=2, activation="relu")(image)
    x = layers.Conv2D(24, 3, strides=2, activation="relu")(x)
    x = layers.Flatten()(x)
    return keras.Model(image, layers.Dense(4, activation="sigmoid")(x))


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="street_"))
    record_drive(root)
    x, y, skipped = load_drive(root)
    print(f"{len(x)} frames, skipped {skipped}")
    if len(skipped) > 0.2 * len(x):
        raise SystemExit("too many unreadable frames")
    model = box_net()
    model.compile("adam", "mae")
    model.fit(x, y, batch_size=8, epochs=3, validation_split=0.2, verbose=2)


if __name__ == "__main__":
    main()
