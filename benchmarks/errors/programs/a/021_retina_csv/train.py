import csv
import os
import tempfile

import cv2
import numpy as np
import tf_keras as keras

from generator import CSVGenerator

CLASSES = ("weed", "crop")


def prepare_field_images(count=32):
    folder = tempfile.mkdtemp(prefix="field_")
    rng = np.random.default_rng(15)
    csv_file = os.path.join(folder, "annotations.csv")
    with open(csv_file, "w", newline="") as f:
        writer = csv.writer(f)
        for i in range(count):
            name = f"field_{i:03d}.png"
            image = np.full((64, 64, 3), (20, 60, 90), np.uint8)
            if i % 9 == 7:
                writer.writerow([name, "", "", "", "", ""])
            else:
                x, y = (int(v) for v in rng.integers(0, 48, 2))
                image[y:y + 14, x:x + 14] = (30, 190, 40)
                writer.writerow([name, x, y, x + 14, y + 14, CLASSES[i % 2]])
            cv2.imwrite(os.path.join(folder, name), image)
    return csv_file


def create_model():
    model = keras.Sequential()
    model.add(keras.layers.Input((64, 64, 3)))
    for filters in (8, 16, 32):
        model.add(keras.layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu"))
    model.add(keras.layers.Conv2D(len(CLASSES), 1, activation="sigmoid"))
    return model


if __name__ == "__main__":
    train_generator = CSVGenerator(prepare_field_images(), CLASSES)
    model = create_model()
    model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(1e-3))
    model.fit(train_generator, steps_per_epoch=len(train_generator), epochs=2)
