import tempfile

import keras
import numpy as np
import tensorflow as tf

from matcher import Matcher

cells = (np.arange(6, dtype=np.float32) + 0.5) / 6
cy, cx = np.meshgrid(cells, cells, indexing="ij")
ANCHORS = np.stack([cx - 0.15, cy - 0.15, cx + 0.15, cy + 0.15], -1).reshape(-1, 4)

model = keras.Sequential([
    keras.layers.Input((48, 48, 3)),
    keras.layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
    keras.layers.Conv2D(24, 3, strides=2, padding="same", activation="relu"),
    keras.layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
    keras.layers.Conv2D(4, 1),
    keras.layers.Reshape((-1, 4)),
])
optimizer = keras.optimizers.Adam(1e-3)
matcher = Matcher(ANCHORS)


@tf.function
def train_step(images, boxes):
    targets, weights = matcher(boxes)
    with tf.GradientTape() as tape:
        deltas = model(images, training=True)
        distance = tf.reduce_sum(tf.abs(deltas - targets), axis=-1)
        loss = tf.reduce_sum(distance * weights) / (tf.reduce_sum(weights) + 1e-6)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_data(path, n=64):
    rng = np.random.default_rng(6)
    images = rng.random((n, 48, 48, 3), dtype=np.float32) * 0.2
    corner = rng.uniform(0, 0.6, (n, 2, 2)).astype(np.float32)
    boxes = np.concatenate([corner, corner + 0.3], axis=-1)
    np.savez(path, images=images, boxes=boxes)


if __name__ == "__main__":
    path = tempfile.mkdtemp(prefix="matcher_") + "/train.npz"
    make_data(path)
    arrays = np.load(path)
    dataset = tf.data.Dataset.from_tensor_slices((arrays["images"], arrays["boxes"]))
    for epoch in range(2):
        for step, (images, boxes) in enumerate(dataset.shuffle(64).batch(16)):
            loss = train_step(images, boxes)
        print("epoch", epoch, "loss", float(loss))
