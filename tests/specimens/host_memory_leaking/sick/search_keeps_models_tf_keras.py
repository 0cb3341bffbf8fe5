# /// specimen
# cause = "host_memory_leaking"
# also = []
# where = "KEEPS THEM HERE"
# framework = "tf_keras"
# ends = "exits"
# seconds = 75
# near = "big_model_loaded_at_start"
# needs = []
# ///
"""A search over settings keeps every trained model, with its optimizer, next to its score."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np  # noqa: E402
import tf_keras as keras  # noqa: E402
from onset import mark  # noqa: E402


def build_model(width: int, rate: float) -> keras.Model:
    model = keras.Sequential(
        [keras.layers.Dense(width, activation="relu"), keras.layers.Dense(width, activation="relu"), keras.layers.Dense(1)]
    )
    model.compile(optimizer=keras.optimizers.Adam(rate), loss="mse")
    return model


def search(inputs: np.ndarray, targets: np.ndarray, trials: int) -> float:
    generator = np.random.default_rng(1)
    tried: list[tuple[float, keras.Model]] = []
    for trial in range(trials):
        rate = 10 ** generator.uniform(-5, -3)
        model = build_model(1_024, rate)
        history = model.fit(inputs, targets, batch_size=64, epochs=2, verbose=0)
        mark()
        tried.append((history.history["loss"][-1], model))  # KEEPS THEM HERE
        print(f"trial {trial} rate {rate:.1e} loss {tried[-1][0]:.4f}", flush=True)
    return min(score for score, _ in tried)


def main() -> None:
    inputs = np.random.default_rng(0).normal(size=(512, 32)).astype("float32")
    print("best", search(inputs, inputs[:, :1] * inputs[:, 1:2], trials=50))


if __name__ == "__main__":
    main()
