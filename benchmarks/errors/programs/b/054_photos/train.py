"""Colour classifier over a folder in which some uploads are broken."""
import os
import tempfile
import warnings

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.dataloader import default_collate


def uploads(root, n=60):
    rng = np.random.default_rng(0)
    for i in range(n):
        a = rng.integers(0, 90, (40, 40, 3), dtype=np.uint8)
        a[..., i % 3] += 120
        path = os.path.join(root, f"{i:03d}_{i % 3}.jpg")
        Image.fromarray(a).save(path)
        if i in (7, 31):
            open(path, "wb").close()
        elif i == 44:
            blob = open(path, "rb").read()
            open(path, "wb").write(blob[: len(blob) // 2])


class Uploads(Dataset):
    def __init__(self, root):
        self.files = sorted(os.path.join(root, f) for f in os.listdir(root))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path = self.files[i]
        try:
            with Image.open(path) as img:
                x = np.asarray(img.convert("RGB"), dtype=np.float32)
        except (UnidentifiedImageError, OSError) as err:
            warnings.warn(f"skipping {os.path.basename(path)}: {err}")
            return None
        return torch.from_numpy(x / 255).permute(2, 0, 1), int(path[-5])


def drop_none(batch):
    return default_collate([item for item in batch if item is not None])


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as root:
        uploads(root)
        loader = DataLoader(Uploads(root), batch_size=10, shuffle=True, num_workers=2, collate_fn=drop_none)
        model = nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(75, 3))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(2):
            used = 0
            for x, y in loader:
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                used += len(y)
            print(f"epoch {epoch}: {used} of {len(loader.dataset)} images, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
