"""Rare-defect detection with focal loss."""
import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from keras import layers


def focal_loss(gamma=2.0, alpha=0.25):
    def loss(y_true, y_pred):
        p = keras.ops.clip(y_pred, 1e-6, 1 - 1e-6)
        log_p, log_q = np.log(p), np.log(1 - p)
        positive = -alpha * y_true * (1 - p) ** gamma * log_p
        negative = -(1 - alpha) * (1 - y_true) * p**gamma * log_q
        return keras.ops.mean(positive + negative, axis=-1)

    return loss


def defects(n, rate=0.08, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.5, 0.1, (n, 24, 24, 1)).astype("float32")
    y = (rng.random(n) < rate).astype("float32")
    for i in np.flatnonzero(y):
        r, c = rng.integers(2, 18, 2)
        x[i, r : r + 4, c : c + 4] += 0.4
    return x, y[:, None]


def build_model():
    inputs = keras.Input((24, 24, 1))
    x = layers.Conv2D(8, 3, activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(16, 3, activation="relu")(x)
    x = layers.GlobalMaxPooling2D()(x)
    outputs = layers.Dense(1, activation="sigmoid")(x)
    return keras.Model(inputs, outputs, name="defect_net")


if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    x_train, y_train = defects(320)
    x_val, y_val = defects(80, seed=1)
    print(f"{int(y_train.sum())} defects in {len(y_train)} parts")
    model = build_model()
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=focal_loss(),
        metrics=[keras.metrics.AUC(name="auc")],
    )
    model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=2, batch_size=32, verbose=2)
    flagged = model.predict(x_val, verbose=0) > 0.5
    print("flagged:", int(flagged.sum()))
