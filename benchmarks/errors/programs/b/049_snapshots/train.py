"""Weight-space study: keep the whole trajectory of a small network."""
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from quota import limit_file_size


class Recorder:
    def __init__(self, model, path):
        self.model, self.path = model, path
        self.trajectory = []

    def snap(self, epoch, loss):
        weights = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        self.trajectory.append({"epoch": epoch, "loss": loss, "weights": weights})

    def write(self, optimizer):
        torch.save({"trajectory": self.trajectory, "optimizer": optimizer.state_dict()}, self.path)
        return os.path.getsize(self.path) / 1e6


def parity(n=1024, bits=12):
    x = torch.randint(0, 2, (n, bits)).float()
    return TensorDataset(x * 2 - 1, (x.sum(1) % 2).long())


def main(epochs=12, width=384):
    limit_file_size()
    torch.manual_seed(0)
    loader = DataLoader(parity(), batch_size=128, shuffle=True)
    model = nn.Sequential(
        nn.Linear(12, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, 2),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(model, os.path.join(folder, "trajectory.pt"))
        for epoch in range(epochs):
            total = 0.0
            for x, y in loader:
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            recorder.snap(epoch, total / len(loader))
            size = recorder.write(optimizer)
            print(f"epoch {epoch} loss {total / len(loader):.4f} file {size:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
