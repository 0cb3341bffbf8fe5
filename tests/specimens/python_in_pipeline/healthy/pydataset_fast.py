# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 30
# near = "python_in_pipeline"
# needs = []
# ///
"""A PyDataset with Python code in it that is quick beside the step of the model."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


class Windows(keras.utils.PyDataset):
    def __init__(self, series: np.ndarray, **kwargs) -> None:
        super().__init__(**kwargs)
        self.series = series

    def __len__(self) -> int:
        return 300

    def __getitem__(self, index: int):
        starts = [(index * 37 + number * 101) % (len(self.series) - 65) for number in range(64)]
        rows = np.stack([self.series[start : start + 65] for start in starts])
        return rows[:, :-1], rows[:, -1:]


def main() -> None:
    series = np.sin(np.arange(50_000) / 9).astype("float32")
    model = keras.Sequential(
        [keras.Input((64,)), keras.layers.Dense(2048, "relu"), keras.layers.Dense(1024, "relu"), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    model.fit(Windows(series, workers=2), epochs=4, verbose=2)


if __name__ == "__main__":
    main()
