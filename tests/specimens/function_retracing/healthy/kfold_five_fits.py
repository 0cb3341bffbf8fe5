# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "function_retracing"
# needs = []
# ///
"""Five-fold cross-validation: a new model, a new fit and new traces for each fold, as it must be."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


def build_model():
    model = keras.Sequential(
        [keras.Input((10,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
    )
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    return model


def load_churn(count=5000, seed=0):
    rng = np.random.default_rng(seed)
    customers = rng.normal(size=(count, 10)).astype("float32")
    left = (customers[:, 0] * customers[:, 1] + 0.3 * rng.normal(size=count) > 0).astype("float32")
    return customers, left


customers, left = load_churn()
folds = np.array_split(np.random.default_rng(1).permutation(len(customers)), 5)
scores = []
for number, held_out in enumerate(folds):
    training = np.concatenate([fold for fold in folds if fold is not held_out])
    model = build_model()
    model.fit(customers[training], left[training], batch_size=16, epochs=6, verbose=2)
    scores.append(model.evaluate(customers[held_out], left[held_out], verbose=0)[1])
    print(f"fold {number}: accuracy {scores[-1]:.3f}", flush=True)
print(f"mean accuracy {np.mean(scores):.3f}")
