import csv
import os
import tempfile

import numpy as np
import keras
from keras import layers

from text import Vocabulary

TOPICS = ("sport", "money", "weather")
LENGTH = 12


def write_headlines(path, n=300):
    rng = np.random.default_rng(3)
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["headline", "topic"])
        for i in range(n):
            topic = TOPICS[i % 3]
            words = [f"{topic}{k}" for k in rng.integers(0, 40, 4)] + [f"word{k}" for k in rng.integers(0, 80, 5)]
            out.writerow([" ".join(rng.permutation(words)), topic])


def read_headlines(path):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    return [r["headline"] for r in rows], np.array([TOPICS.index(r["topic"]) for r in rows])


def topic_model(vocab_size, classes):
    return keras.Sequential([
        layers.Input((LENGTH,), dtype="int32"),
        layers.Embedding(vocab_size, 24),
        layers.GlobalAveragePooling1D(),
        layers.Dense(24, activation="relu"),
        layers.Dense(classes, activation="softmax"),
    ])


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="headlines_"), "headlines.csv")
    write_headlines(path)
    texts, labels = read_headlines(path)
    vocab = Vocabulary(texts)
    print("vocabulary", len(vocab))
    model = topic_model(len(vocab), len(TOPICS))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(vocab.encode(texts, LENGTH), labels, batch_size=32, epochs=3)


if __name__ == "__main__":
    main()
