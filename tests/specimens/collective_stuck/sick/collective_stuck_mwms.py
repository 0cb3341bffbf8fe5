# /// specimen
# cause = "collective_stuck"
# also = []
# where = "WAITS IN THE ALL-REDUCE"
# framework = "loop-tensorflow"
# ends = "hangs"
# seconds = 60
# near = "two_processes_complete_torch"
# needs = ["two-processes"]
# ///
"""Two workers train with MultiWorkerMirroredStrategy in their own loop. The second stops to write a checkpoint to a volume
that hangs; the first waits for it in the all-reduce of the next step."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import die_with_parent
from onset import mark

STEPS_BEFORE_CHECKPOINT = 150


def join_cluster() -> int:
    """Set TF_CONFIG, start the second worker from the first, and return the own index."""
    if "TF_CONFIG" in os.environ:
        die_with_parent()
        return 1
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    workers = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
    for listener in listeners:
        listener.close()
    second = json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": 1}})
    subprocess.Popen([sys.executable, __file__], env=os.environ | {"TF_CONFIG": second})
    os.environ["TF_CONFIG"] = second.replace('"index": 1', '"index": 0')
    return 0


index = join_cluster()
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    kernel = tf.Variable(tf.random.normal((8, 1)))
    optimizer_rate = 0.05


def replica_step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((rows @ kernel - 1.0) ** 2)
    gradient = tf.distribute.get_replica_context().all_reduce("MEAN", tape.gradient(loss, kernel))
    kernel.assign_sub(optimizer_rate * gradient)
    return loss


@tf.function
def train_step(rows):
    return strategy.reduce("MEAN", strategy.run(replica_step, args=(rows,)), axis=None)


def write_checkpoint() -> None:
    mark()
    while not Path("/nonexistent/volume").exists():
        time.sleep(1)


for step in range(10**6):
    loss = train_step(tf.random.normal((16, 8)))  # WAITS IN THE ALL-REDUCE
    if index == 1 and step == STEPS_BEFORE_CHECKPOINT:
        write_checkpoint()
    if index == 0 and step % 25 == 0:
        print(f"step {step} loss {float(loss):.4f}", flush=True)
