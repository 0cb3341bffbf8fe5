"""Hourly power demand: predict the next hour from the last day."""
import os
import tempfile

import numpy as np
import pandas as pd
import tensorflow as tf

WINDOW = 24
HORIZON = 1


def write_demand(path, hours=24 * 40):
    t = np.arange(hours)
    rng = np.random.default_rng(1)
    demand = 500 + 120 * np.sin(2 * np.pi * t / 24) + 40 * np.sin(2 * np.pi * t / 168)
    frame = pd.DataFrame({"hour": t, "demand": demand + rng.normal(0, 8, hours)})
    frame.to_csv(path, index=False)


def make_windows(values, window):
    X = []
    for start in range(len(values) - window):
        X.append(values[start:start + window])
    return np.array(X, dtype="float32")[..., np.newaxis]


def make_targets(values, window, horizon):
    return np.array(values[window + horizon:], dtype="float32")


def scale(values, mean, std):
    return (values - mean) / std


path = os.path.join(tempfile.mkdtemp(prefix="demand_"), "demand.csv")
write_demand(path)
series = pd.read_csv(path)["demand"].to_numpy()

cut = int(len(series) * 0.8)
mean, std = series[:cut].mean(), series[:cut].std()
train, test = scale(series[:cut], mean, std), scale(series[cut:], mean, std)

X_train, y_train = make_windows(train, WINDOW), make_targets(train, WINDOW, HORIZON)
X_test, y_test = make_windows(test, WINDOW), make_targets(test, WINDOW, HORIZON)

model = tf.keras.Sequential([
    tf.keras.layers.Input((WINDOW, 1)),
    tf.keras.layers.LSTM(16),
    tf.keras.layers.Dense(8, activation="relu"),
    tf.keras.layers.Dense(1),
])
model.compile(optimizer="adam", loss="mse", metrics=["mae"])
history = model.fit(X_train, y_train, epochs=3, batch_size=64, shuffle=False)
print("test mae", model.evaluate(X_test, y_test, verbose=0)[1] * std)
