"""Wind power regression. A step with NaN or Inf is undone and the learning rate is lowered."""
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def turbine_log(path, n=640):
    rng = np.random.default_rng(90)
    speed = rng.weibull(2.0, n) * 8
    direction = rng.uniform(0, 2 * np.pi, n)
    power = np.clip(speed ** 3 / 500, 0, 2) + rng.normal(0, 0.05, n)
    table = np.column_stack([speed, np.cos(direction), np.sin(direction), power])
    table[200, 0] = np.nan
    table[431, 3] = np.inf
    np.save(path, table.astype("float32"))


class Session:
    def __init__(self):
        self.model = tf.keras.Sequential([
            layers.Input((3,)), layers.Dense(16, activation="tanh"), layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.SGD(0.02)
        self.rollbacks = 0

    @tf.function
    def _step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(x, training=True)[:, 0] - y))
            loss = tf.debugging.check_numerics(loss, "loss is not finite")
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def step(self, x, y):
        backup = self.model.get_weights()
        try:
            return float(self._step(x, y))
        except tf.errors.InvalidArgumentError as e:
            self.model.set_weights(backup)
            rate = float(self.optimizer.learning_rate) * 0.9
            self.optimizer.learning_rate.assign(rate)
            self.rollbacks += 1
            print("step undone:", e.message.splitlines()[0][:60], "- new rate", round(rate, 5))
            return None


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="wind_"), "turbine.npy")
    turbine_log(path)
    table = np.load(path)
    ds = tf.data.Dataset.from_tensor_slices((table[:, :3], table[:, 3])).batch(32)
    session = Session()
    for epoch in range(3):
        losses = [session.step(x, y) for x, y in ds]
        losses = [v for v in losses if v is not None]
        print(f"epoch {epoch}: loss {np.mean(losses):.4f} over {len(losses)} steps")
    print("steps undone:", session.rollbacks)


if __name__ == "__main__":
    main()
