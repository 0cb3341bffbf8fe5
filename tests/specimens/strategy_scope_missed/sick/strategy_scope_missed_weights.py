# /// specimen
# cause = "strategy_scope_missed"
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 90
# near = "strategy_scope_missed_loop"
# needs = []
# ///
"""The weights of a loop are made outside the scope, and the optimizer inside."""

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
    weights = tf.Variable(tf.zeros([4, 1]))
    with strategy.scope():
        optimizer = keras.optimizers.SGD(0.1)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights - y) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        return loss

    train_step = tf.function(lambda x, y: strategy.run(step, args=(x, y)))
    batches = tf.data.Dataset.from_tensor_slices((tf.ones([16, 4]), tf.ones([16, 1]))).batch(4)
    mark()
    for x, y in strategy.experimental_distribute_dataset(batches):
        train_step(x, y)
