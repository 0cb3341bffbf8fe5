# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "learning_rate_too_high"
# needs = []
# ///
"""A GAN in an own loop, two optimisers: the generator's loss climbs to many times its start, and that is no fault."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

def make_net(inputs, outputs):
    layers = keras.layers
    return keras.Sequential([keras.Input((inputs,)), layers.Dense(48, activation="leaky_relu"), layers.Dense(outputs)])


rng = np.random.default_rng(5)
corners = np.sign(rng.normal(size=(8000, 16))).astype("float32") + rng.normal(0, 0.05, (8000, 16)).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(corners).shuffle(8000, seed=1).batch(64).repeat()
generator, critic = make_net(4, 16), make_net(16, 1)
generator_optimizer, critic_optimizer = keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-3)
entropy = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(real):
    noise = tf.random.normal((64, 4))
    with tf.GradientTape() as first, tf.GradientTape() as second:
        fake = generator(noise, training=True)
        real_score, fake_score = critic(real, training=True), critic(fake, training=True)
        critic_loss = entropy(tf.ones_like(real_score), real_score) + entropy(tf.zeros_like(fake_score), fake_score)
        generator_loss = entropy(tf.ones_like(fake_score), fake_score)
    gradients = first.gradient(generator_loss, generator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gradients, generator.trainable_variables))
    gradients = second.gradient(critic_loss, critic.trainable_variables)
    critic_optimizer.apply_gradients(zip(gradients, critic.trainable_variables))
    return generator_loss, critic_loss


end = time.monotonic() + 20
for step, real in enumerate(dataset):
    generator_loss, critic_loss = train_step(real)
    if step % 1000 == 0:
        print(f"step {step}: generator {float(generator_loss):.3f} critic {float(critic_loss):.3f}", flush=True)
    if time.monotonic() > end:
        break
