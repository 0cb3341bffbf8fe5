# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "host_memory_leaking"
# needs = []
# ///
"""Many short epochs with a CSV log, a growing History and a dict of notes per step: growth without meaning."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import tempfile

import keras
import numpy as np


class Notes(keras.callbacks.Callback):
    """Keeps a note of every step."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[dict[str, float]] = []

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        self.notes.append({"batch": float(batch), **(logs or {})})


def main() -> None:
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(640, 32)).astype("float32")
    targets = inputs[:, :1] * inputs[:, 1:2]
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse", metrics=["mae", "mse"])
    notes = Notes()
    with tempfile.TemporaryDirectory() as folder:
        log = keras.callbacks.CSVLogger(f"{folder}/log.csv")
        model.fit(
            inputs, targets, validation_split=0.1, batch_size=32, epochs=120, verbose=2, callbacks=[log, notes]
        )
        print("rows", len(Path(folder, "log.csv").read_text().splitlines()), "notes", len(notes.notes))


if __name__ == "__main__":
    main()
