import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

import checkpoint


def make_data(n=320, d=20, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    y = (x[:, :3].sum(1) > 0).astype(np.int64)
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y))


def build(d=20):
    model = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 2))
    return model, torch.optim.Adam(model.parameters(), lr=2e-3)


def evaluate(model, loader):
    model.eval()
    hits = []
    with torch.no_grad():
        for x, y in loader:
            hits.append((model(x).argmax(1) == y).numpy())
    return np.concatenate(hits).mean()


def run(path, until):
    """One job of the queue: go on from the checkpoint, if there is one."""
    torch.manual_seed(0)
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)
    valid = DataLoader(make_data(seed=1), batch_size=64)
    model, optimizer = build()
    start, best_acc = 0, 0.0
    if os.path.exists(path):
        start, best_acc = checkpoint.load(path, model, optimizer)
        print(f"resuming at epoch {start}, best so far {best_acc:.3f}")
    for epoch in range(start, until):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        acc = evaluate(model, valid)
        print(f"epoch {epoch}: accuracy {acc:.3f}")
        if acc > best_acc:
            best_acc = acc
            checkpoint.save(path, model, optimizer, epoch, best_acc)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        ckpt = os.path.join(folder, "last.pt")
        run(ckpt, until=2)
        run(ckpt, until=4)
