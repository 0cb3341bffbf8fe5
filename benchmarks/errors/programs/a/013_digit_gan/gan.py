import keras
import tensorflow as tf
from keras import layers


def make_generator(latent_dim):
    return keras.Sequential([
        layers.Input((latent_dim,)),
        layers.Dense(7 * 7 * 32, activation="relu"),
        layers.Reshape((7, 7, 32)),
        layers.Conv2DTranspose(16, 4, strides=2, padding="same", activation="relu"),
        layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="tanh"),
    ], name="generator")


def make_discriminator():
    return keras.Sequential([
        layers.Input((28, 28, 1)),
        layers.Conv2D(16, 4, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Flatten(),
        layers.Dense(1),
    ], name="discriminator")


class Trainer:
    def __init__(self, latent_dim, learning_rate):
        self.latent_dim = latent_dim
        self.generator = make_generator(latent_dim)
        self.discriminator = make_discriminator()
        self.optimizer = keras.optimizers.Adam(learning_rate, beta_1=0.5)
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def step(self, real):
        noise = tf.random.normal((tf.shape(real)[0], self.latent_dim))
        with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
            fake = self.generator(noise, training=True)
            real_out = self.discriminator(real, training=True)
            fake_out = self.discriminator(fake, training=True)
            g_loss = self.bce(tf.ones_like(fake_out), fake_out)
            d_loss = self.bce(tf.ones_like(real_out), real_out) + self.bce(tf.zeros_like(fake_out), fake_out)
        d_grads = d_tape.gradient(d_loss, self.discriminator.trainable_variables)
        self.optimizer.apply_gradients(zip(d_grads, self.discriminator.trainable_variables))
        g_grads = g_tape.gradient(g_loss, self.generator.trainable_variables)
        self.optimizer.apply_gradients(zip(g_grads, self.generator.trainable_variables))
        return g_loss, d_loss
