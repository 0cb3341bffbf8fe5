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
"""Own GradientTape loop over tf.data.Dataset.from_generator. The generator reads lines from a decoder process, which
stops writing but stays alive; the read of the pipe has no end."""

import os
import subprocess
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

DECODER = """
import random, sys, time
for _ in range(6000):
    print(" ".join(f"{random.gauss(0, 1):.4f}" for _ in range(9)), flush=True)
while sys.stdin.read(1):  # waits for orders that nobody sends; ends with its parent
    pass
"""


def rows():
    decoder = subprocess.Popen([sys.executable, "-c", DECODER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for number in range(10**9):
        if number == 6000:
            mark()
        line = decoder.stdout.readline()  # BLOCKED HERE
        values = np.array(line.split(), dtype="float32")
        yield values[:8], values[8:]


signature = (tf.TensorSpec((8,), tf.float32), tf.TensorSpec((1,), tf.float32))
dataset = tf.data.Dataset.from_generator(rows, output_signature=signature).batch(8).prefetch(2)
weights = tf.Variable(tf.random.normal((8, 1)))
bias = tf.Variable(tf.zeros((1,)))


def train_step(features, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((features @ weights + bias - labels) ** 2)
    for variable, gradient in zip([weights, bias], tape.gradient(loss, [weights, bias]), strict=True):
        variable.assign_sub(0.01 * gradient)
    return loss


for step, (features, labels) in enumerate(dataset):
    loss = train_step(features, labels)
    if step % 100 == 0:
        print(f"step {step} loss {float(loss):.4f}", flush=True)
