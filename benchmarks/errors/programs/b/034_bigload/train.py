"""Continue training of a saved encoder without allocating its weights twice."""
import tempfile
from pathlib import Path

import torch
from torch.utils.data import DataLoader, TensorDataset

from encoder import TextEncoder


def corpus(n, seed):
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 200, (n, 20), generator=g)
    return TensorDataset(ids, ids.sum(dim=1) % 3)


def train(model, data, epochs=1, lr=1e-3):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    loader = DataLoader(data, batch_size=16, shuffle=True)
    model.train()
    for epoch in range(epochs):
        for ids, y in loader:
            loss = torch.nn.functional.cross_entropy(model(ids), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}")


def load_lazily(path):
    with torch.device("meta"):
        model = TextEncoder()
    weights = torch.load(path, mmap=True, weights_only=True)
    missing, unexpected = model.load_state_dict(weights, strict=True, assign=True)
    assert not missing and not unexpected
    return model


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "encoder.pt"
        first = TextEncoder()
        train(first, corpus(160, seed=0))
        torch.save(first.state_dict(), path)
        del first

        model = load_lazily(path)
        train(model, corpus(160, seed=1), epochs=2)


if __name__ == "__main__":
    main()
