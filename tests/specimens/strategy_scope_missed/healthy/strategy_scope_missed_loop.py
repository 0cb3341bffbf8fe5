# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 90
# near = "strategy_scope_missed"
# needs = []
# ///
"""A loop whose weights are made inside the scope, and a model outside that another loop trains without it."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf


if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    alone = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    alone.compile("sgd", "mse")
    with strategy.scope():
        weights = tf.Variable(tf.zeros([4, 1]))
        optimizer = keras.optimizers.SGD(0.1)
        optimizer.build([weights])

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights - y) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        return loss

    train_step = tf.function(lambda x, y: strategy.run(step, args=(x, y)))
    batches = tf.data.Dataset.from_tensor_slices((tf.ones([16, 4]), tf.ones([16, 1]))).batch(4)
    for x, y in strategy.experimental_distribute_dataset(batches):
        train_step(x, y)
    alone.fit(tf.ones((32, 4)), tf.ones((32, 1)), verbose=0)
