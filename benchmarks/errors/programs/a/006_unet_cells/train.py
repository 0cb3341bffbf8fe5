# Nuclei segmentation with a small U-Net
import os
import tempfile

import cv2
import numpy as np
import keras

from unet import build_unet

IMG_WIDTH = 100
IMG_HEIGHT = 100
EPOCHS = 2


def draw_cells(folder, count=24):
    rng = np.random.default_rng(0)
    for i in range(count):
        image = rng.integers(0, 60, (IMG_HEIGHT, IMG_WIDTH), dtype=np.uint8)
        mask = np.zeros((IMG_HEIGHT, IMG_WIDTH), np.uint8)
        for _ in range(5):
            center = tuple(int(v) for v in rng.integers(10, 90, 2))
            radius = int(rng.integers(4, 10))
            cv2.circle(image, center, radius, 180, -1)
            cv2.circle(mask, center, radius, 255, -1)
        cv2.imwrite(os.path.join(folder, f"{i:03d}_image.png"), image)
        cv2.imwrite(os.path.join(folder, f"{i:03d}_mask.png"), mask)


def load(folder):
    X, Y = [], []
    for name in sorted(os.listdir(folder)):
        gray = cv2.imread(os.path.join(folder, name), cv2.IMREAD_GRAYSCALE)
        target = X if name.endswith("_image.png") else Y
        target.append(gray[..., None].astype("float32") / 255.0)
    return np.array(X), np.array(Y)


folder = tempfile.mkdtemp(prefix="cells_")
draw_cells(folder)
X_train, Y_train = load(folder)
print(X_train.shape, Y_train.shape)

model = build_unet((IMG_HEIGHT, IMG_WIDTH, 1))
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
earlystopper = keras.callbacks.EarlyStopping(patience=5, verbose=1)
model.fit(X_train, Y_train, validation_split=0.1, batch_size=8, epochs=EPOCHS,
          callbacks=[earlystopper])
