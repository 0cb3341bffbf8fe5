# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "tf_keras"
# ends = "exits"
# seconds = 30
# near = "checkpoint_slow"
# needs = []
# ///
"""Keras 2 saves the best model a few times in the first epochs and then no more."""

import os
import tempfile

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras


def main() -> None:
    random = np.random.default_rng(0)
    inputs = random.normal(size=(19_200, 64)).astype("float32")
    targets = inputs[:, :1] * 0.5
    model = tf_keras.Sequential(
        [
            tf_keras.layers.Dense(1500, activation="relu"),
            tf_keras.layers.Dense(1500, activation="relu"),
            tf_keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="sgd", loss="mse")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        best = tf_keras.callbacks.ModelCheckpoint(folder + "/best.weights.h5", save_best_only=True, save_weights_only=True)
        model.fit(
            inputs[:12_800],
            targets[:12_800],
            validation_data=(inputs[12_800:], targets[12_800:]),
            epochs=4,
            verbose=2,
            callbacks=[best],
        )


if __name__ == "__main__":
    main()
