"""Semi-supervised training with two loaders of different length."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Cycle:
    """Hands out batches for ever; starts the loader again when it runs dry."""

    def __init__(self, loader):
        self.loader = loader
        self.iterator = iter(loader)
        self.restarts = 0

    def take(self):
        try:
            return next(self.iterator)
        except StopIteration:
            self.restarts += 1
            self.iterator = iter(self.loader)
            return next(self.iterator)


def make(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    return x, (x[:, 0] - x[:, 1] > 0).long()


def entropy(logits):
    p = logits.softmax(1)
    return -(p * p.clamp_min(1e-8).log()).sum(1).mean()


def main(steps=120):
    torch.manual_seed(0)
    labelled = Cycle(DataLoader(TensorDataset(*make(60, 0)), batch_size=12, shuffle=True))
    unlabelled = iter(DataLoader(TensorDataset(make(960, 1)[0]), batch_size=48, shuffle=True))
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    unsupervised_left = True
    for step in range(steps):
        x, y = labelled.take()
        loss = nn.functional.cross_entropy(model(x), y)
        if unsupervised_left:
            try:
                (u,) = next(unlabelled)
            except StopIteration:
                print(f"step {step}: unlabelled data used up, supervised from here on")
                unsupervised_left = False
            else:
                loss = loss + 0.1 * entropy(model(u))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    x, y = make(200, 2)
    print("restarts", labelled.restarts, "accuracy", (model(x).argmax(1) == y).float().mean().item())


if __name__ == "__main__":
    main()
