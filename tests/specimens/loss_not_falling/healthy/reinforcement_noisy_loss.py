# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "loss_not_falling"
# needs = []
# ///
"""Policy gradient on a small bandit world: the loss is noise around 0 and says nothing; the reward rises."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

ARMS = 6


def play(policy_logits, states, rng):
    odds = tf.nn.softmax(policy_logits).numpy()
    actions = np.array([rng.choice(ARMS, p=row / row.sum()) for row in odds])
    rewards = (actions == (states.argmax(axis=1) % ARMS)) + 0.5 * rng.normal(size=len(states))
    return actions, rewards.astype("float32")


policy = keras.Sequential([keras.Input((ARMS,)), keras.layers.Dense(32, activation="tanh"), keras.layers.Dense(ARMS)])
optimizer = keras.optimizers.Adam(3e-3)


@tf.function
def learn(states, actions, advantages):
    with tf.GradientTape() as tape:
        chosen = tf.nn.sparse_softmax_cross_entropy_with_logits(actions, policy(states, training=True))
        loss = tf.reduce_mean(chosen * advantages)
    gradients = tape.gradient(loss, policy.trainable_variables)
    optimizer.apply_gradients(zip(gradients, policy.trainable_variables))
    return loss


rng = np.random.default_rng(0)
baseline = 0.0
end = time.monotonic() + 20
episode = 0
while time.monotonic() < end:
    states = rng.normal(size=(32, ARMS)).astype("float32")
    actions, rewards = play(policy(states), states, rng)
    advantages = rewards - baseline
    baseline = 0.95 * baseline + 0.05 * rewards.mean()
    loss = learn(tf.constant(states), tf.constant(actions), tf.constant(advantages))
    if episode % 100 == 0:
        print(f"episode {episode}: loss {float(loss):+.3f}, reward {baseline:.3f}", flush=True)
    episode += 1
