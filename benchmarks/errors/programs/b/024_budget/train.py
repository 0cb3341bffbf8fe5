"""Train until the time or the epoch budget is used up, whichever comes first."""
import os

os.environ["KERAS_BACKEND"] = "torch"

import time

import keras
import numpy as np


class BudgetExceeded(RuntimeError):
    pass


class Budget(keras.callbacks.Callback):
    def __init__(self, seconds, batches):
        super().__init__()
        self.seconds, self.batches, self.seen = seconds, batches, 0

    def on_train_begin(self, logs=None):
        self.started = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if self.seen >= self.batches:
            raise BudgetExceeded(f"{self.seen} batches")
        if time.monotonic() - self.started > self.seconds:
            raise BudgetExceeded(f"{self.seconds} seconds")


def model_for(width):
    model = keras.Sequential([
        keras.Input((10,)), keras.layers.Dense(width, activation="tanh"), keras.layers.Dense(1),
    ])
    model.compile(keras.optimizers.SGD(0.05), "mse")
    return model


def main():
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 10)).astype("float32")
    y = np.tanh(x[:, :1] + x[:, 1:2])
    results = {}
    for width in (4, 16, 64):
        model = model_for(width)
        try:
            model.fit(x, y, epochs=50, batch_size=40, verbose=0, callbacks=[Budget(20, batches=35)])
        except BudgetExceeded as stop:
            print(f"width {width}: budget used up after {stop}")
        results[width] = float(model.evaluate(x, y, verbose=0))
    try:
        model.evaluate(x[:, :5], y, verbose=0)
    except ValueError as err:
        print("half of the features is not enough:", str(err).splitlines()[0])
    print("best width", min(results, key=results.get), results)


if __name__ == "__main__":
    main()
