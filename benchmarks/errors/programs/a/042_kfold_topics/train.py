"""Cross validation of a bag of words classifier with a custom loop."""
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

WORDS, TOPICS, FOLDS = 150, 3, 4

loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def write_corpus(path, n=360):
    rng = np.random.default_rng(23)
    topics = rng.integers(0, TOPICS, n)
    counts = rng.poisson(0.3, (n, WORDS))
    for i, topic in enumerate(topics):
        counts[i, topic * 50:topic * 50 + 50] += rng.poisson(0.4, 50)
    np.savez(path, counts=counts.astype("float32"), topics=topics)


def new_model():
    return tf.keras.Sequential([
        layers.Input((WORDS,)),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(TOPICS),
    ])


@tf.function
def train_step(model, optimizer, x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_fn(y, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def run_fold(train, valid, epochs=2):
    model = new_model()
    optimizer = tf.keras.optimizers.Adam(1e-3)
    ds = tf.data.Dataset.from_tensor_slices(train).shuffle(400).batch(32, drop_remainder=True)
    for _ in range(epochs):
        for x, y in ds:
            train_step(model, optimizer, x, y)
    predictions = tf.argmax(model(valid[0]), axis=1).numpy()
    return float(np.mean(predictions == valid[1]))


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="kfold_"), "corpus.npz")
    write_corpus(path)
    with np.load(path) as npz:
        counts, topics = npz["counts"], npz["topics"]
    fold_of = np.arange(len(topics)) % FOLDS
    for fold in range(FOLDS):
        train, valid = fold_of != fold, fold_of == fold
        accuracy = run_fold((counts[train], topics[train]), (counts[valid], topics[valid]))
        print(f"fold {fold}: accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
