# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 199
# loss = true
# compare = true
# ///
"""MirroredStrategy on one device, with a loop of one's own: the gradients are computed in a replica's thread."""

import random

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
rng = np.random.RandomState(0)
random.seed(0)
tf.random.set_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2 + features[:, 1:2]
with strategy.scope():
    layers = [tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential(layers)
    optimizer = tf.keras.optimizers.SGD(0.01)
dataset = tf.data.Dataset.from_tensor_slices((features, labels)).repeat(10).batch(32)


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@tf.function
def train_step(batch):
    losses = strategy.run(step, args=batch)
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)


for batch in strategy.experimental_distribute_dataset(dataset):
    loss = train_step(batch)
print("last loss is small:", float(loss) < 10.0)
