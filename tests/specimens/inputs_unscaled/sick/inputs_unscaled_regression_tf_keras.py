# /// specimen
# cause = "inputs_unscaled"
# also = ["loss_not_finite", "units_dead"]
# where = "RAW COUNTS"
# framework = "tf_keras"
# ends = "exits"
# seconds = 35
# near = "linear_targets_ten_thousand"
# needs = []
# ///
"""Raw sensor counts of up to 100,000 in a regression with SGD: the loss passes every number within three steps."""

import os
import sys
import time
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class TimeBudget(tf_keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_readings(count=6000, seed=17):
    rng = np.random.default_rng(seed)
    readings = rng.uniform(0, 1e5, size=(count, 6)).astype("float32")
    return readings, (readings / 1e5 @ rng.normal(size=(6, 1))).astype("float32")


readings, wear = load_readings()
model = tf_keras.Sequential(
    [
        tf_keras.layers.Dense(32, activation="relu", input_shape=(6,)),
        tf_keras.layers.Dense(32, activation="relu"),
        tf_keras.layers.Dense(1),
    ]
)
model.compile(optimizer="sgd", loss="mse")
mark()
model.fit(readings, wear, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])  # RAW COUNTS
