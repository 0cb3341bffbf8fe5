# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "learning_rate_too_high"
# needs = []
# ///
"""A GAN under fit with its own train_step: the generator's loss rises for long while the critic gets better; that is how it goes."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

class Gan(keras.Model):
    def __init__(self, generator, critic):
        super().__init__()
        self.generator, self.critic = generator, critic
        self.entropy = keras.losses.BinaryCrossentropy(from_logits=True)
        self.critic_mean = keras.metrics.Mean(name="critic_loss")
        self.generator_mean = keras.metrics.Mean(name="loss")

    def compile(self, critic_optimizer, generator_optimizer):
        super().compile()
        self.critic_optimizer, self.generator_optimizer = critic_optimizer, generator_optimizer

    @property
    def metrics(self):
        return [self.critic_mean, self.generator_mean]

    def train_step(self, real):
        noise = tf.random.normal((tf.shape(real)[0], 4))
        with tf.GradientTape() as first, tf.GradientTape() as second:
            fake = self.generator(noise)
            real_score, fake_score = self.critic(real), self.critic(fake)
            critic_loss = self.entropy(tf.ones_like(real_score), real_score)
            critic_loss += self.entropy(tf.zeros_like(fake_score), fake_score)
            generator_loss = self.entropy(tf.ones_like(fake_score), fake_score)
        gradients = first.gradient(critic_loss, self.critic.trainable_variables)
        self.critic_optimizer.apply_gradients(zip(gradients, self.critic.trainable_variables))
        gradients = second.gradient(generator_loss, self.generator.trainable_variables)
        self.generator_optimizer.apply_gradients(zip(gradients, self.generator.trainable_variables))
        self.critic_mean.update_state(critic_loss)
        self.generator_mean.update_state(generator_loss)
        return {m.name: m.result() for m in self.metrics}


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def make_net(inputs, outputs):
    layers = keras.layers
    return keras.Sequential([keras.Input((inputs,)), layers.Dense(48, activation="leaky_relu"), layers.Dense(outputs)])


rng = np.random.default_rng(5)
corners = np.sign(rng.normal(size=(8000, 16))).astype("float32") + rng.normal(0, 0.05, (8000, 16)).astype("float32")
model = Gan(make_net(4, 16), make_net(16, 1))
model.compile(keras.optimizers.Adam(3e-4), keras.optimizers.Adam(3e-5))
model.fit(corners, batch_size=64, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
