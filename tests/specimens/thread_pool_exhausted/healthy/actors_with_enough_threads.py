# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "thread_pool_exhausted"
# needs = []
# ///
"""Two actors in Python threads, a py_function that calls a tf.function inside a tf.function, as in the exhausted twin; but
the pool has six threads. Now and then the policy thinks for two seconds."""

import os
import queue
import threading
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf

tf.config.threading.set_inter_op_parallelism_threads(6)
policy_kernel = tf.Variable(tf.random.normal((6, 6)) * 0.1)
trajectories: queue.Queue = queue.Queue(maxsize=8)
played = 0


@tf.function
def policy(state, depth):
    tree = tf.ones((200, 200))
    for _ in tf.range(depth):  # looks deeper into the tree
        tree = tf.tanh(tree @ tree)
    return tf.tanh(state @ policy_kernel) + 1e-6 * tf.reduce_mean(tree)


def play(state):
    global played
    played += 1
    time.sleep(0.02)
    return policy(state, tf.constant(4000 if played % 300 == 0 else 1))


@tf.function
def rollout(state):
    for _ in tf.range(5):
        state = tf.ensure_shape(tf.py_function(play, [state], tf.float32), (4, 6))
    return state


def actor() -> None:
    while True:
        trajectories.put(rollout(tf.random.normal((4, 6))))


for number in range(2):
    threading.Thread(target=actor, name=f"actor-{number}", daemon=True).start()
started, step = time.time(), 0
while time.time() - started < 20:
    states = trajectories.get()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.tanh(states @ policy_kernel) - 0.5) ** 2)
    policy_kernel.assign_sub(0.05 * tape.gradient(loss, policy_kernel))
    step += 1
    if step % 50 == 0:
        print(f"step {step} loss {float(loss):.4f}", flush=True)
os._exit(0)  # the actors never end
