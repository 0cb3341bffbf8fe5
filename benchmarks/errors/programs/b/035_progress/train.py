import os

os.environ["KERAS_BACKEND"] = "torch"

import json
import tempfile
import time

import keras
import numpy as np
from keras import layers


class Report:
    """Collects one line per epoch for the dashboard."""

    def __init__(self, path):
        self.path = path
        self.started = time.time()
        self.rows = []

    def add(self, logs):
        row = {k: round(float(v), 4) for k, v in logs.items()}
        row["seconds"] = round(time.time() - self.started, 1)
        self.rows.append(row)
        with open(self.path, "w") as f:
            json.dump(self.rows, f)


def autoencoder(features=20, code=4):
    inputs = keras.Input((features,))
    x = layers.Dense(12, activation="relu")(inputs)
    x = layers.Dense(code, name="code")(x)
    x = layers.Dense(12, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(features)(x))


def readings(n=400, features=20, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(3, features))
    return (rng.normal(size=(n, 3)) @ mixing + rng.normal(0, 0.1, (n, features))).astype("float32")


def main():
    keras.utils.set_random_seed(9)
    data = readings()
    report = Report(os.path.join(tempfile.mkdtemp(), "progress.json"))
    model = autoencoder()
    model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
    dashboard = keras.callbacks.LambdaCallback(
        on_train_begin=lambda logs: print("training starts"),
        on_epoch_end=lambda logs: report.add(logs),
        on_train_end=lambda logs: print("training done"),
    )
    model.fit(
        data, data,
        epochs=4,
        batch_size=40,
        validation_split=0.1,
        callbacks=[dashboard],
        verbose=2,
    )
    errors = np.square(model.predict(data, verbose=0) - data).mean(axis=1)
    print("threshold:", np.quantile(errors, 0.99).round(4))
    print("rows:", len(report.rows))


if __name__ == "__main__":
    main()
