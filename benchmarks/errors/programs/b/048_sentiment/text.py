import collections
import random

import numpy as np

POSITIVE = "great fun lovely superb clever touching bright".split()
NEGATIVE = "dull weak messy slow bland noisy clumsy".split()
NEUTRAL = "a the film scene actor plot ending music with and really quite".split()

PAD, UNKNOWN = 0, 1


def write_reviews(path, n=400, seed=0):
    rng = random.Random(seed)
    with open(path, "w") as f:
        for _ in range(n):
            label = rng.randint(0, 1)
            words = rng.choices(NEUTRAL, k=rng.randint(5, 12)) + rng.choices(POSITIVE if label else NEGATIVE, k=3)
            rng.shuffle(words)
            f.write(f"{label}\t{' '.join(words)}\n")


def read_reviews(path):
    with open(path) as f:
        pairs = [line.rstrip("\n").split("\t") for line in f]
    return [text.split() for _, text in pairs], np.array([int(label) for label, _ in pairs])


def build_vocab(texts):
    counts = collections.Counter(w for t in texts for w in t)
    return {w: i + 2 for i, (w, _) in enumerate(counts.most_common())}


def encode(texts, vocab, length=16):
    out = np.full((len(texts), length), PAD, dtype="int64")
    for row, words in zip(out, texts):
        ids = [vocab.get(w, UNKNOWN) for w in words][:length]
        row[: len(ids)] = ids
    return out
