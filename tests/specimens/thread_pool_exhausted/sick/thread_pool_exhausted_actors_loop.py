# /// specimen
# cause = "thread_pool_exhausted"
# also = []
# where = "WAITS FOR A THREAD HERE"
# framework = "loop-tensorflow"
# ends = "hangs"
# seconds = 35
# near = "actors_with_enough_threads"
# needs = []
# ///
"""Two actors play in their own Python threads. A rollout is a tf.function that calls the game by py_function, and the game
asks the policy, another tf.function. With two inter-op threads and two actors every thread of the pool sits in a
py_function that waits for one more."""

import os
import queue
import sys
import threading
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

tf.config.threading.set_inter_op_parallelism_threads(2)
policy_kernel = tf.Variable(tf.random.normal((6, 6)) * 0.1)
trajectories: queue.Queue = queue.Queue(maxsize=8)


@tf.function
def policy(state):
    noise = tf.random.normal((100, 100)) @ tf.random.normal((100, 100))
    return tf.tanh(state @ policy_kernel) + 1e-6 * tf.reduce_mean(noise)


def play(state):
    time.sleep(0.002)
    return policy(state)  # WAITS FOR A THREAD HERE


@tf.function
def rollout(state):
    for _ in tf.range(5):
        state = tf.ensure_shape(tf.py_function(play, [state], tf.float32), (4, 6))
    return state


def actor() -> None:
    while True:
        trajectories.put(rollout(tf.random.normal((4, 6))))


threading.Thread(target=actor, name="actor-0", daemon=True).start()
for step in range(10**6):
    if step == 200:
        mark()
        threading.Thread(target=actor, name="actor-1", daemon=True).start()
    states = trajectories.get()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.tanh(states @ policy_kernel) - 0.5) ** 2)
    policy_kernel.assign_sub(0.05 * tape.gradient(loss, policy_kernel))
    if step % 50 == 0:
        print(f"step {step} loss {float(loss):.4f}", flush=True)
