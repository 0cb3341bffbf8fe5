# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "generator_blocked"
# needs = []
# ///
"""Own loop whose main thread takes batches from a queue. An actor fills it slowly and in bursts: the main thread waits in
queue.get most of the time, up to 2.5 s, but always moves on."""

import os
import queue
import threading
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf

replay: queue.Queue = queue.Queue()
kernel = tf.Variable(tf.random.normal((8, 1)))


def play_games() -> None:
    rng = np.random.default_rng(0)
    for game in range(18):
        time.sleep(2.5 if game % 4 == 3 else 0.8)
        for _ in range(6):
            replay.put(rng.normal(size=(32, 8)).astype("float32"))
    replay.put(None)


@tf.function
def train_step(features):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((features @ kernel - tf.reduce_sum(features, axis=1, keepdims=True)) ** 2)
    kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
    return loss


threading.Thread(target=play_games, name="actor", daemon=True).start()
step = 0
while (batch := replay.get()) is not None:
    loss = train_step(tf.constant(batch))
    step += 1
    if step % 6 == 0:
        print(f"step {step} loss {float(loss):.4f}", flush=True)
