"""Runs over the data once to find samples that cannot be read, then trains without them."""
import re
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset


def write(root, n=80):
    rng = np.random.default_rng(0)
    for i in range(n):
        x = rng.normal(size=7)
        text = " ".join(f"{v:.3f}" for v in np.append(x, x[0] > 0))
        if i in (12, 55):
            text = text.replace(".", ",", 1)
        (root / f"{i:03d}.txt").write_text(text)


class BadSample(Exception):
    pass


class TextFiles(Dataset):
    def __init__(self, root):
        self.files = sorted(root.glob("*.txt"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        try:
            values = [float(v) for v in self.files[i].read_text().split()]
        except ValueError as err:
            raise BadSample(f"index={i} {err}") from err
        return torch.tensor(values[:-1]), torch.tensor(int(values[-1]))


def scan(data, workers=2):
    good, bad = list(range(len(data))), []
    while True:
        loader = DataLoader(Subset(data, good), batch_size=10, num_workers=workers)
        try:
            for _ in loader:
                pass
            return good, bad
        except BadSample as err:
            index = int(re.search(r"index=(\d+)", str(err)).group(1))
            print("quarantined", index)
            good.remove(index)
            bad.append(index)


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as tmp:
        write(Path(tmp))
        data = TextFiles(Path(tmp))
        good, bad = scan(data)
        loader = DataLoader(Subset(data, good), batch_size=13, shuffle=True, num_workers=2)
        model = nn.Linear(7, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for epoch in range(3):
            for x, y in loader:
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.4f} on {len(good)} samples")


if __name__ == "__main__":
    main()
