from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


def write_split(root, n=48, seed=4):
    rng = np.random.default_rng(seed)
    for sub in ("images", "labels"):
        (Path(root) / sub).mkdir()
    for i in range(n):
        Image.fromarray(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(f"{root}/images/{i:04d}.jpg")
        objects = 1 if i == 37 else int(rng.integers(2, 6))
        rows = [f"{rng.integers(0, 3)} " + " ".join(f"{v:.4f}" for v in rng.random(4)) for _ in range(objects)]
        Path(f"{root}/labels/{i:04d}.txt").write_text("\n".join(rows) + "\n")


class YoloFolder(Dataset):
    """images/*.jpg with labels/*.txt, one `cls cx cy w h` per line."""

    def __init__(self, root, max_boxes=8):
        self.images = sorted((Path(root) / "images").glob("*.jpg"))
        self.max_boxes = max_boxes

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        path = self.images[i]
        image = torch.from_numpy(np.array(Image.open(path))).permute(2, 0, 1).float() / 255
        rows = np.loadtxt(path.parent.parent / "labels" / (path.stem + ".txt"), dtype=np.float32)
        classes, boxes = rows[:, 0], rows[:, 1:]
        out = torch.full((self.max_boxes, 5), -1.0)
        out[: len(boxes), 0] = torch.from_numpy(classes)
        out[: len(boxes), 1:] = torch.from_numpy(boxes)
        return image, out
