"""Fine-tune a small image classifier on a folder of leaf photos."""
import os
import tempfile

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

from augmentations import train_transform


def save_leaves(root, per_class=16):
    rng = np.random.default_rng(0)
    for c, name in enumerate(("healthy", "rust")):
        os.makedirs(os.path.join(root, name))
        for i in range(per_class):
            a = rng.integers(0, 120, (80, 80, 3), dtype=np.uint8)
            a[..., c] += 100
            Image.fromarray(a).save(os.path.join(root, name, f"{i}.jpg"))


class Leaves(Dataset):
    def __init__(self, root, transform):
        self.transform = transform
        self.items = []
        for label, name in enumerate(sorted(os.listdir(root))):
            folder = os.path.join(root, name)
            self.items += [(os.path.join(folder, f), label) for f in sorted(os.listdir(folder))]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        return self.transform(Image.open(path).convert("RGB")), label


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as root:
        save_leaves(root)
        loader = DataLoader(Leaves(root, train_transform()), batch_size=8, shuffle=True)
        model = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 2),
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(3):
            for x, y in loader:
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
