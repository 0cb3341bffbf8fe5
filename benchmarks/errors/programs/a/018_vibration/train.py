import os
import tempfile

import keras
import numpy as np
from keras import layers

import compat


def record(path, n=160, length=512):
    rng = np.random.default_rng(18)
    t = np.arange(length) / 1000.0
    worn = rng.integers(0, 2, n)
    signals = np.sin(2 * np.pi * 50 * t) + rng.normal(0, 0.2, (n, length))
    signals += worn[:, None] * 0.8 * np.sin(2 * np.pi * 180 * t)
    np.savez(path, signals=signals.astype("float32"), worn=worn)


def roc_area(y, scores):
    order = np.argsort(-scores)
    hits = np.concatenate([[0], np.cumsum(y[order]) / y.sum()])
    alarms = np.concatenate([[0], np.cumsum(1 - y[order]) / (1 - y).sum()])
    return compat.trapezoid(hits, alarms)


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="vibration_"), "bearing.npz")
    record(path)
    with np.load(path) as npz:
        x = np.stack([compat.spectrum(s) for s in npz["signals"]])
        y = npz["worn"]
    print("librosa:", compat.HAS_LIBROSA, "arrays:", compat.xp.__name__, x.shape)
    model = keras.Sequential([
        layers.Input(x.shape[1:]),
        layers.Conv1D(16, 3, activation="relu"),
        layers.GlobalMaxPooling1D(),
        layers.Dense(1, activation="sigmoid"),
    ])
    model.compile(compat.make_optimizer(1e-2), "binary_crossentropy")
    model.fit(x[:120], y[:120], epochs=5, batch_size=20, verbose=2)
    print("area under the curve", roc_area(y[120:], model.predict(x[120:], verbose=0)[:, 0]))


if __name__ == "__main__":
    main()
