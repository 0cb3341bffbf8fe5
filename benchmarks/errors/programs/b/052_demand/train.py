"""Demand forecast: asymmetric loss, because empty shelves cost more than stock."""
import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers, ops


def make_sales(n=600, seed=0):
    rng = np.random.default_rng(seed)
    weekday = rng.integers(0, 7, n)
    promo = rng.integers(0, 2, n)
    temperature = rng.normal(15, 8, n)
    sales = 20 + 5 * (weekday >= 5) + 12 * promo + 0.4 * temperature + rng.normal(0, 2, n)
    x = np.stack([weekday / 6, promo, temperature / 40], axis=1).astype("float32")
    return x, sales.astype("float32")[:, None]


class ShelfLoss(keras.losses.Loss):
    def __init__(self, shortage_weight=3.0, name="shelf_loss"):
        super().__init__(name=name)
        self.shortage_weight = shortage_weight

    def call(self, y_true, y_pred):
        error = y_true - y_pred
        if ops.mean(error) > 0:
            weight = self.shortage_weight
        else:
            weight = 1.0
        return weight * ops.mean(ops.square(error), axis=-1)


def build():
    model = keras.Sequential([
        keras.Input((3,)),
        layers.Dense(32, activation="relu"),
        layers.Dense(16, activation="relu"),
        layers.Dense(1),
    ])
    model.compile(optimizer=keras.optimizers.Adam(5e-3), loss=ShelfLoss(), metrics=["mae"])
    return model


def main():
    keras.utils.set_random_seed(3)
    x, y = make_sales()
    model = build()
    model.summary()
    history = model.fit(x, y, validation_split=0.2, epochs=5, batch_size=32, verbose=2)
    print("final mae", round(history.history["mae"][-1], 3))
    print("next week:", model.predict(x[:7], verbose=0).ravel().round(1))


if __name__ == "__main__":
    main()
