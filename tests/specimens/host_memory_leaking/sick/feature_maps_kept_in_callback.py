# /// specimen
# cause = "host_memory_leaking"
# also = []
# where = "KEEPS THEM HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "losses_kept_as_floats"
# needs = []
# ///
"""A callback keeps the feature maps of every batch "to plot them later": memory grows by the same amount each step."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import keras
import numpy as np
from onset import mark


class FeatureRecorder(keras.callbacks.Callback):
    """Records what the first layer sees."""

    def __init__(self, probe: np.ndarray) -> None:
        super().__init__()
        self.probe = probe
        self.history: list[object] = []

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        mark()
        features = self.model.layers[0](self.probe)
        self.history.append(features)  # KEEPS THEM HERE


def main() -> None:
    generator = np.random.default_rng(0)
    images = generator.random((256, 32, 32, 3), dtype=np.float32)
    labels = generator.integers(0, 10, 256)
    model = keras.Sequential(
        [
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(images, labels, batch_size=16, epochs=180, verbose=2, callbacks=[FeatureRecorder(images[:16])])


if __name__ == "__main__":
    main()
