# /// specimen
# cause = "strategy_scope_missed"
# also = []
# where = "BUILT HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 90
# near = "strategy_scope_missed_inside"
# needs = []
# ///
"""The model is built before the scope of the strategy that is to train it."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])  # BUILT HERE
    with strategy.scope():
        model.compile("adam", "mse")
    mark()
    model.fit(tf.ones((32, 4)), tf.ones((32, 1)), verbose=0)
