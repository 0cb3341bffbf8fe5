"""DCGAN on 32x32 texture patches with a custom train_step."""
import os
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers

PATCH = 32
LATENT = 64


def build_generator():
    z = keras.Input((LATENT,))
    x = layers.Dense(7 * 7 * 64, use_bias=False)(z)
    x = layers.BatchNormalization()(x)
    x = layers.LeakyReLU()(x)
    x = layers.Reshape((PATCH // 4, PATCH // 4, 64))(x)
    x = layers.Conv2DTranspose(32, 5, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(1, 5, strides=2, padding="same", activation="tanh")(x)
    return keras.Model(z, x, name="generator")


def build_discriminator():
    image = keras.Input((PATCH, PATCH, 1))
    x = layers.Conv2D(32, 5, strides=2, padding="same")(image)
    x = layers.LeakyReLU()(x)
    x = layers.Dropout(0.3)(x)
    x = layers.Flatten()(x)
    return keras.Model(image, layers.Dense(1)(x), name="discriminator")


class DCGAN(keras.Model):
    def __init__(self):
        super().__init__()
        self.discriminator = build_discriminator()
        self.generator = build_generator()

    def compile(self, d_optimizer, g_optimizer):
        super().compile()
        self.d_optimizer, self.g_optimizer = d_optimizer, g_optimizer

    def train_step(self, real):
        noise = tf.random.normal((tf.shape(real)[0], LATENT))
        with tf.GradientTape(persistent=True) as tape:
            d_fake = self.discriminator(self.generator(noise, training=True), training=True)
            d_real = self.discriminator(real, training=True)
            d_loss = tf.reduce_mean(tf.nn.softplus(d_fake) + tf.nn.softplus(-d_real))
            g_loss = tf.reduce_mean(tf.nn.softplus(-d_fake))
        d_vars, g_vars = self.discriminator.trainable_variables, self.generator.trainable_variables
        self.d_optimizer.apply_gradients(zip(tape.gradient(d_loss, d_vars), d_vars))
        self.g_optimizer.apply_gradients(zip(tape.gradient(g_loss, g_vars), g_vars))
        return {"d_loss": d_loss, "g_loss": g_loss}


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="textures_"), "patches.npy")
    yy, xx = np.mgrid[0:PATCH, 0:PATCH]
    phases = np.random.default_rng(1).uniform(0, 6, (96, 1, 1))
    np.save(path, np.sin(xx / 3 + yy / 5 + phases).astype("float32"))

    patches = np.load(path)[..., None]
    gan = DCGAN()
    gan.compile(keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-4))
    gan.fit(tf.data.Dataset.from_tensor_slices(patches).batch(16), epochs=2)


if __name__ == "__main__":
    main()
