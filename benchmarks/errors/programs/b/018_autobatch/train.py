import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from memory import Arena, find_batch_size


def fit(data, arena, batch_size, epochs=3):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for epoch in range(epochs):
        for x, y in DataLoader(data, batch_size=batch_size, shuffle=True):
            hidden = model[1](model[0](x))
            arena.reserve(x, hidden)
            loss = nn.functional.cross_entropy(model[2](hidden), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(round(loss.item(), 4))
    return losses


def main():
    g = torch.Generator().manual_seed(1)
    x = torch.randn(1024, 64, generator=g)
    y = x[:, :8].argmax(1)
    data = TensorDataset(x, y)
    arena = Arena(budget_bytes=200_000)
    size, losses = find_batch_size(lambda b: fit(data, arena, b), start=1024)
    print("trained with batch size", size, "losses", losses)

    try:
        find_batch_size(lambda b: fit(TensorDataset(x[:, :32], y), arena, b), start=64)
    except RuntimeError as err:
        print("narrow features are refused, as they should be:", str(err)[:60])


if __name__ == "__main__":
    main()
