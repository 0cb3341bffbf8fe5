import os
import tempfile

import numpy as np
import tensorflow as tf

from gan import Trainer

BATCH_SIZE = 16
EPOCHS = 2


def fake_digits(path, n=128):
    rng = np.random.default_rng(0)
    digits = np.zeros((n, 28, 28), np.uint8)
    for i in range(n):
        col = rng.integers(6, 20)
        digits[i, 4:24, col:col + 3] = 255
    np.save(path, digits)


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="gan_"), "digits.npy")
    fake_digits(path)
    digits = np.load(path).astype("float32")[..., None] / 127.5 - 1.0
    ds = tf.data.Dataset.from_tensor_slices(digits).shuffle(128).batch(BATCH_SIZE)
    trainer = Trainer(latent_dim=32, learning_rate=2e-4)
    for epoch in range(EPOCHS):
        for batch in ds:
            g_loss, d_loss = trainer.step(batch)
        print(f"epoch {epoch}: generator {g_loss:.3f} discriminator {d_loss:.3f}")


if __name__ == "__main__":
    main()
