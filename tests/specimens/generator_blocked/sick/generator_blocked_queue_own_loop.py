# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "loop-tensorflow"
# ends = "hangs"
# seconds = 30
# near = "queue_wait_between_steps"
# needs = []
# ///
"""Own loop whose main thread takes games from a queue. The actor that plays them catches its error, prints it and
ends; the main thread waits in queue.get for a game that nobody plays."""

import os
import queue
import sys
import threading
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

replay: queue.Queue = queue.Queue()
kernel = tf.Variable(tf.random.normal((8, 1)))


def play_games() -> None:
    rng = np.random.default_rng(0)
    try:
        for game in range(10**6):
            time.sleep(0.02)
            if game == 300:
                raise RuntimeError("the simulator is gone")
            replay.put(rng.normal(size=(32, 8)).astype("float32"))
    except RuntimeError as error:
        print("actor:", error, flush=True)
        mark()


@tf.function
def train_step(features):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((features @ kernel - tf.reduce_sum(features, axis=1, keepdims=True)) ** 2)
    kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
    return loss


def main() -> None:
    threading.Thread(target=play_games, name="actor", daemon=True).start()
    for step in range(10**6):
        batch = replay.get()  # BLOCKED HERE
        loss = train_step(tf.constant(batch))
        if step % 50 == 0:
            print(f"step {step} loss {float(loss):.4f}", flush=True)


main()
