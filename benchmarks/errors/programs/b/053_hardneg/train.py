"""Train on a feature bank; after each epoch keep the hardest examples only."""
import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

from bank import DIM, FeatureBank, write_bank


def synth(n=600, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    centers = rng.normal(size=(classes, DIM))
    return (0.1 * centers[y] + rng.normal(size=(n, DIM))).astype(np.float32), y


def hardest(features, labels, losses, keep):
    order = np.argsort(-losses)[: int(keep * len(losses))]
    return features[order], labels[order]


def run_epoch(model, optimizer, loader, n):
    losses = np.zeros(n)
    for index, x, y in loader:
        each = nn.functional.cross_entropy(model(x), y, reduction="none")
        optimizer.zero_grad()
        each.mean().backward()
        optimizer.step()
        losses[index.numpy()] = each.detach().numpy()
    return losses


def main(epochs=4):
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bank.f32")
        features, labels = synth()
        write_bank(path, features)
        bank = FeatureBank(path, labels)
        loader = DataLoader(bank, batch_size=20, shuffle=True, num_workers=2, persistent_workers=True)
        model = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 4))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for epoch in range(epochs):
            losses = run_epoch(model, optimizer, loader, len(bank))
            print(f"epoch {epoch} mean loss {losses.mean():.4f}", flush=True)
            features, labels = hardest(features, labels, losses, keep=0.5)
            write_bank(path, features)


if __name__ == "__main__":
    main()
