# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "is killed"
# seconds = 35
# near = "killed_from_outside"
# needs = []
# ///
"""A training that ends itself by a signal: when it is done it restores the default action and sends SIGTERM to itself, so
that its shell sees the usual code."""

import os
import signal
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf

kernel = tf.Variable(tf.random.normal((8, 1)))


@tf.function
def train_step(features):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((features @ kernel - tf.reduce_sum(features, axis=1, keepdims=True)) ** 2)
    kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
    return loss


def leave() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


started, step = time.time(), 0
while time.time() - started < 16:
    loss = train_step(tf.random.normal((16, 8)))
    time.sleep(0.01)
    step += 1
    if step % 100 == 0:
        print(f"step {step} loss {float(loss):.5f}", flush=True)
print("trained, leaving", flush=True)
leave()
