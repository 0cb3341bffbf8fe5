import pathlib
import tempfile

import keras
import numpy as np
from keras import layers

from attention import AttentionPool

VOCAB, STEPS = 120, 16


def sample_tweets(file, n=320):
    rng = np.random.default_rng(4)
    tokens = rng.integers(10, VOCAB, (n, STEPS))
    mood = rng.integers(0, 2, n)
    tokens[np.arange(n), rng.integers(0, STEPS, n)] = mood + 1
    np.savez(file, tokens=tokens, mood=mood)


def build():
    tokens = keras.Input((STEPS,), dtype="int32")
    x = layers.Embedding(VOCAB, 16)(tokens)
    x = layers.Bidirectional(layers.GRU(8, return_sequences=True))(x)
    x = AttentionPool(12, temperature=0.5)(x)
    return keras.Model(tokens, layers.Dense(1, activation="sigmoid")(x))


def train(workdir, arrays):
    checkpoint = workdir / "best.keras"
    model = build()
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(
        arrays["tokens"], arrays["mood"],
        validation_split=0.25, epochs=2, batch_size=32,
        callbacks=[keras.callbacks.ModelCheckpoint(checkpoint, save_best_only=True)],
    )
    return checkpoint


def evaluate(checkpoint, arrays):
    model = keras.models.load_model(checkpoint)
    loss, accuracy = model.evaluate(arrays["tokens"], arrays["mood"], verbose=0)
    print(f"best checkpoint: loss {loss:.3f} accuracy {accuracy:.3f}")


if __name__ == "__main__":
    workdir = pathlib.Path(tempfile.mkdtemp(prefix="tweets_"))
    sample_tweets(workdir / "tweets.npz")
    arrays = np.load(workdir / "tweets.npz")
    evaluate(train(workdir, arrays), arrays)
