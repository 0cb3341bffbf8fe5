# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "gradients_disconnected"
# needs = []
# ///
"""A GAN in a loop of one's own: two optimizers in turn, each with half of the variables; the generator's loss rises."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

LATENT = 8


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 8000)
    points = np.stack([np.cos(angle), np.sin(angle)], 1) + 0.05 * rng.normal(size=(8000, 2))
    return tf.data.Dataset.from_tensor_slices(points.astype("float32")).shuffle(8000).batch(64, drop_remainder=True)


generator = keras.Sequential([keras.Input((LATENT,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(2)])
discriminator = keras.Sequential([keras.Input((2,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1)])
generator_optimizer = keras.optimizers.Adam(1e-4, beta_1=0.5)
discriminator_optimizer = keras.optimizers.Adam(5e-4, beta_1=0.5)
cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def discriminator_step(real):
    fake = generator(tf.random.normal((tf.shape(real)[0], LATENT)), training=True)
    with tf.GradientTape() as tape:
        judged_real, judged_fake = discriminator(real, training=True), discriminator(fake, training=True)
        loss = cross_entropy(tf.ones_like(judged_real), judged_real) + cross_entropy(tf.zeros_like(judged_fake), judged_fake)
    gradients = tape.gradient(loss, discriminator.trainable_variables)
    discriminator_optimizer.apply_gradients(zip(gradients, discriminator.trainable_variables))
    return loss


@tf.function
def generator_step(count):
    with tf.GradientTape() as tape:
        judged = discriminator(generator(tf.random.normal((count, LATENT)), training=True), training=True)
        loss = cross_entropy(tf.ones_like(judged), judged)
    gradients = tape.gradient(loss, generator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gradients, generator.trainable_variables))
    return loss


dataset = make_dataset()
end = time.monotonic() + 20
epoch = 0
while time.monotonic() < end:
    for step, points in enumerate(dataset):
        discriminator_loss = discriminator_step(points)
        if step % 2 == 0:
            generator_loss = generator_step(64)
    epoch += 1
    print(f"epoch {epoch}: discriminator {float(discriminator_loss):.3f}, generator {float(generator_loss):.3f}", flush=True)
