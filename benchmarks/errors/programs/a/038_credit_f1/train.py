import os
import tempfile

import keras
import numpy as np
import pandas as pd
from keras import layers

from metrics import F1Callback

FEATURES = ["age", "income", "debt", "late_payments"]


def extract(path, rows=800):
    rng = np.random.default_rng(10)
    table = pd.DataFrame({
        "age": rng.integers(18, 80, rows),
        "income": rng.lognormal(10, 0.4, rows),
        "debt": rng.lognormal(8, 0.9, rows),
        "late_payments": rng.poisson(0.8, rows),
    })
    risk = table["debt"] / table["income"] + 0.4 * table["late_payments"]
    table["default"] = (risk + rng.normal(0, 0.2, rows) > 0.9).astype(int)
    table.to_csv(path, index=False)


def load(path):
    table = pd.read_csv(path)
    x = table[FEATURES].astype("float32")
    x = (x - x.mean()) / x.std()
    return x.to_numpy(), table["default"].to_numpy()


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="credit_"), "loans.csv")
    extract(path)
    x, y = load(path)
    x_train, x_val, y_train, y_val = x[:600], x[600:], y[:600], y[600:]
    normal, bad = np.bincount(y_train)
    model = keras.Sequential([
        layers.Input((len(FEATURES),)),
        layers.Dense(32, activation="relu"),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy", metrics=[keras.metrics.AUC(name="auc")])
    model.fit(x_train, y_train, epochs=4, batch_size=32, verbose=2,
              class_weight={0: 1.0, 1: normal / bad},
              callbacks=[F1Callback(x_val, y_val)])


if __name__ == "__main__":
    main()
