# /// specimen
# cause = "killed_from_outside"
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "is killed"
# seconds = 40
# near = "ends_itself_by_signal"
# needs = []
# ///
"""An own training loop that another process ends with SIGTERM, as a preempted machine or a stopped container does."""

import os
import subprocess
import sys
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

kernel = tf.Variable(tf.random.normal((8, 1)))


@tf.function
def train_step(features):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((features @ kernel - tf.reduce_sum(features, axis=1, keepdims=True)) ** 2)
    kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
    return loss


subprocess.Popen(["sh", "-c", f"sleep 8; kill -TERM {os.getpid()}"])
started = time.time()
for step in range(10**7):
    loss = train_step(tf.random.normal((16, 8)))
    time.sleep(0.005)
    if step % 100 == 0:
        print(f"step {step} loss {float(loss):.5f}", flush=True)
    if time.time() - started > 7.9:
        mark()
