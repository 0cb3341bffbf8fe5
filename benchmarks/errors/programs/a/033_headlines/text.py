import collections
import re

import numpy as np


class Vocabulary:
    """Words by frequency. Index 0 is the padding."""

    def __init__(self, texts, max_words=None):
        counts = collections.Counter(w for t in texts for w in self.split(t))
        self.words = [w for w, _ in counts.most_common(max_words)]
        self.index = {w: i for i, w in enumerate(self.words, start=1)}

    @staticmethod
    def split(text):
        return re.findall(r"[a-z0-9']+", text.lower())

    def __len__(self):
        return len(self.words)

    def encode(self, texts, length):
        rows = np.zeros((len(texts), length), np.int32)
        for i, text in enumerate(texts):
            ids = [self.index[w] for w in self.split(text) if w in self.index][:length]
            rows[i, :len(ids)] = ids
        return rows
