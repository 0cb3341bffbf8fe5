import tempfile

import tensorflow as tf
from tensorflow.keras import layers

import coco


def make_net():
    return tf.keras.Sequential([
        layers.Input((56, 56, 3)),
        layers.Conv2D(16, 3, strides=2, activation="relu"),
        layers.Conv2D(32, 3, strides=2, activation="relu"),
        layers.Flatten(),
        layers.Dense(4, activation="sigmoid"),
    ])


@tf.function
def step(net, optimizer, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(net(x, training=True) - y))
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
    return loss


def main(epochs=3, batch_size=8):
    path = coco.download_subset(tempfile.mkdtemp(prefix="subset_"))
    x, y = coco.load(path)
    print("images:", len(x))
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100).batch(batch_size)
    net, optimizer = make_net(), tf.keras.optimizers.Adam(1e-3)
    for epoch in range(epochs):
        for xb, yb in ds:
            loss = step(net, optimizer, xb, yb)
        tf.print("epoch", epoch, "loss", loss)


if __name__ == "__main__":
    main()
