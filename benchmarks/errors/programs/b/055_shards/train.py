import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

import node


def write_shards(root, shards=20, rows=200):
    rng = np.random.default_rng(0)
    for s in range(shards):
        x = rng.normal(size=(rows, 10)).astype(np.float32)
        y = (x[:, 0] * x[:, 1] > 0).astype(np.float32)
        np.savez(root / f"part-{s:05d}.npz", x=x, y=y)


class ShardStream(IterableDataset):
    def __init__(self, root):
        self.files = sorted(Path(root).glob("part-*.npz"))

    def __iter__(self):
        info = get_worker_info()
        mine = self.files if info is None else self.files[info.id :: info.num_workers]
        for path in mine:
            with np.load(path) as part:
                x, y = part["x"], part["y"]
            for row, target in zip(x, y):
                yield torch.from_numpy(row), torch.tensor(target)


def epoch_metrics(scores, targets):
    p, t = torch.cat(scores) > 0, torch.cat(targets) > 0.5
    return (p == t).float().mean().item()


def main():
    node.apply()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        write_shards(root)
        loader = DataLoader(ShardStream(root), batch_size=10, num_workers=2)
        model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for epoch in range(3):
            scores, targets = [], []
            for x, y in loader:
                out = model(x).squeeze(1)
                loss = nn.functional.binary_cross_entropy_with_logits(out, y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                scores.append(out.detach())
                targets.append(y)
            print(f"epoch {epoch}: accuracy {epoch_metrics(scores, targets):.3f}")


if __name__ == "__main__":
    main()
