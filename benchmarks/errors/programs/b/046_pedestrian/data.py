import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


def write_fixture(root, n=40, size=64, seed=3):
    """Small street-scene stand-in: one PNG and one JSON per frame."""
    rng = np.random.default_rng(seed)
    root = Path(root)
    for i in range(n):
        frame = rng.integers(0, 255, (size, size, 3), dtype=np.uint8)
        Image.fromarray(frame).save(root / f"frame_{i:04d}.png")
        people = []
        for _ in range(rng.integers(1, 5)):
            x, y = rng.integers(0, size - 20, 2)
            w, h = rng.integers(6, 20, 2)
            people.append({"bbox": [int(x), int(y), int(x + w), int(y + h)]})
        (root / f"frame_{i:04d}.json").write_text(json.dumps({"people": people}))


class PedestrianBoxes(Dataset):
    def __init__(self, root):
        self.frames = sorted(Path(root).glob("*.png"))

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, index):
        path = self.frames[index]
        image = np.asarray(Image.open(path).convert("RGB"), dtype=np.float32) / 255.0
        people = json.loads(path.with_suffix(".json").read_text())["people"]
        boxes = torch.tensor([p["bbox"] for p in people], dtype=torch.float32)
        target = {
            "boxes": boxes,
            "labels": torch.ones(len(people), dtype=torch.int64),
            "image_id": torch.tensor([index]),
        }
        return torch.from_numpy(image).permute(2, 0, 1), target
