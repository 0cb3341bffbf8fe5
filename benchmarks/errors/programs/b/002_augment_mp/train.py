"""Keyword spotting on short waveforms.

The audio libraries we use elsewhere hold threads, so workers are spawned, not forked.
"""
import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from augment import training_pipeline

WORDS = ["yes", "no", "stop"]


def record(folder, per_word=20, length=400):
    rng = np.random.default_rng(0)
    for k, word in enumerate(WORDS):
        for i in range(per_word):
            wave = np.sin(np.arange(length) * 0.05 * (k + 1)) + rng.normal(0, 0.2, length)
            np.save(os.path.join(folder, f"{word}-{i}.npy"), wave.astype(np.float32))


class Waves(Dataset):
    def __init__(self, folder, transform=None):
        self.files = sorted(os.path.join(folder, f) for f in os.listdir(folder))
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        wave = torch.from_numpy(np.load(self.files[i]))
        label = WORDS.index(os.path.basename(self.files[i]).split("-")[0])
        if self.transform is not None:
            wave = self.transform(wave)
        return wave.unsqueeze(0), label


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        record(folder)
        data = Waves(folder, transform=training_pipeline())
        loader = DataLoader(
            data, batch_size=10, shuffle=True, num_workers=2, multiprocessing_context="spawn",
        )
        model = nn.Sequential(
            nn.Conv1d(1, 8, 9, stride=4), nn.ReLU(), nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Linear(32, len(WORDS))
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        for epoch in range(2):
            for x, y in loader:
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
