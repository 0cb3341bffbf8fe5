# /// specimen
# cause = "validation_endless"
# also = []
# where = "ENDLESS HERE"
# framework = "tf_keras"
# ends = "exits"
# seconds = 40
# near = "validation_long_but_ends"
# needs = []
# ///
"""Keras 2 with generators: validation_steps is len(samples), so the last batch of epoch 1 seems to freeze."""

import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

BATCH = 32


def generator(inputs, labels):
    order = np.random.default_rng(0)
    while True:
        chosen = order.integers(0, len(inputs), size=BATCH)
        yield inputs[chosen], labels[chosen]


def samples(count: int):
    random = np.random.default_rng(count)
    inputs = random.normal(size=(count, 28, 28, 1)).astype("float32")
    return inputs, (inputs.mean(axis=(1, 2, 3)) > 0).astype("float32")


class Progress(tf_keras.callbacks.Callback):
    def on_test_begin(self, logs=None) -> None:
        mark()


def main() -> None:
    train_inputs, train_labels = samples(3_200)
    test_inputs, test_labels = samples(20_000)
    model = tf_keras.Sequential(
        [
            tf_keras.layers.Conv2D(32, 3, activation="relu"),
            tf_keras.layers.Conv2D(64, 3, activation="relu"),
            tf_keras.layers.MaxPooling2D(2),
            tf_keras.layers.Flatten(),
            tf_keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    model.fit(  # ENDLESS HERE
        generator(train_inputs, train_labels),
        steps_per_epoch=len(train_inputs) // BATCH,
        epochs=3,
        validation_data=generator(test_inputs, test_labels),
        validation_steps=len(test_inputs),
        callbacks=[Progress()],
    )


if __name__ == "__main__":
    main()
