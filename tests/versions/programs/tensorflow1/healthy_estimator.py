# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 299
# compare = true
# ///
"""An Estimator that trains from a tf.data pipeline and writes checkpoints."""

import tempfile

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
tf.set_random_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2

tf.logging.set_verbosity(tf.logging.ERROR)


def model_fn(features, labels, mode):
    prediction = tf.layers.dense(tf.layers.dense(features, 16, tf.nn.relu), 1)
    loss = tf.losses.mean_squared_error(labels, prediction)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def input_fn():
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(32)


estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp())
estimator.train(input_fn, steps=300)
print("steps:", estimator.get_variable_value("global_step"))
