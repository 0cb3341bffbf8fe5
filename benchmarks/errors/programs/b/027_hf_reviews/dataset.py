import random

import torch
from torch.utils.data import Dataset

GOOD = "great lovely solid charming brilliant warm".split()
BAD = "boring dull noisy broken awful cold".split()
FILLER = "the film was and story acting a bit very quite".split()


def make_reviews(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        label = rng.randint(0, 1)
        words = rng.choices(FILLER, k=6) + rng.choices(GOOD if label else BAD, k=3)
        rng.shuffle(words)
        rows.append((" ".join(words), label))
    return rows


class ReviewDataset(Dataset):
    def __init__(self, rows, max_len=12):
        self.rows, self.max_len = rows, max_len
        self.vocab = {w: i + 1 for i, w in enumerate(GOOD + BAD + FILLER)}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, label = self.rows[i]
        ids = [self.vocab[w] for w in text.split()][: self.max_len]
        pad = self.max_len - len(ids)
        return {
            "input_ids": torch.tensor(ids + [0] * pad),
            "attention_mask": torch.tensor([1] * len(ids) + [0] * pad),
            "target": torch.tensor(label),
        }
