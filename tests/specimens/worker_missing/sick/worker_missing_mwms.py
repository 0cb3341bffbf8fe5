# /// specimen
# cause = "worker_missing"
# also = []
# where = "WAITS FOR THE OTHER WORKER"
# framework = "loop-tensorflow"
# ends = "hangs"
# seconds = 50
# near = "workers_arrive_late"
# needs = []
# ///
"""TF_CONFIG lists two workers; only this one was started. MultiWorkerMirroredStrategy waits for the other."""

import json
import os
import socket
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def connect() -> tf.distribute.Strategy:
    workers = [f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"]
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": 0}})
    mark()
    return tf.distribute.MultiWorkerMirroredStrategy()  # WAITS FOR THE OTHER WORKER


strategy = connect()
with strategy.scope():
    kernel = tf.Variable(tf.random.normal((8, 1)))


@tf.function
def train_step(features):
    def replica_step(rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((rows @ kernel - 1.0) ** 2)
        kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
        return loss

    return strategy.reduce("MEAN", strategy.run(replica_step, args=(features,)), axis=None)


for step in range(1000):
    print(f"step {step} loss {float(train_step(tf.random.normal((16, 8)))):.4f}", flush=True)
