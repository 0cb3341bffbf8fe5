"""Chest X-ray classifier. After training it prints the score of a reference picture."""
import os
import tempfile

import cv2
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

SIZE = 64


def load_image(path):
    image = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
    image = cv2.resize(image, (SIZE, SIZE))
    return image.astype("float32")[..., np.newaxis] / 255.0


def fake_hospital(n=60):
    root = tempfile.mkdtemp(prefix="xray_")
    rng = np.random.default_rng(19)
    for i in range(n):
        picture = rng.integers(20, 90, (100, 100), dtype=np.uint8)
        if i % 2:
            cv2.circle(picture, (50, 60), 18, 220, -1)
        kind = "opacity" if i % 2 else "clear"
        cv2.imwrite(os.path.join(root, f"{kind}_{i:03d}.png"), picture)
    return root


def build_model():
    model = keras.Sequential()
    model.add(layers.Input(shape=(SIZE, SIZE, 1)))
    model.add(layers.Conv2D(16, (3, 3), activation="relu"))
    model.add(layers.MaxPooling2D((2, 2)))
    model.add(layers.Conv2D(32, (3, 3), activation="relu"))
    model.add(layers.MaxPooling2D((2, 2)))
    model.add(layers.Flatten())
    model.add(layers.Dense(32, activation="relu"))
    model.add(layers.Dense(1, activation="sigmoid"))
    model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
    return model


def check(model, path):
    image = load_image(path)
    score = model.predict(image, verbose=0)
    print(os.path.basename(path), "opacity score", float(score[0][0]))


def main():
    root = fake_hospital()
    files = sorted(os.path.join(root, f) for f in os.listdir(root))
    X = np.array([load_image(f) for f in files])
    y = np.array(["opacity" in os.path.basename(f) for f in files], dtype="float32")
    model = build_model()
    model.fit(X, y, epochs=2, batch_size=10, shuffle=True)
    check(model, files[0])
    model.save(os.path.join(root, "xray.keras"))


if __name__ == "__main__":
    main()
