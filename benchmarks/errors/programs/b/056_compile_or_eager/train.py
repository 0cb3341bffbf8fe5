import traceback

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.a, self.b = nn.Linear(d, d), nn.Linear(d, d)
        self.head = nn.Linear(d, 1)

    def forward(self, x):
        h = torch.relu(self.a(x))
        if h.mean().item() > 0.2:
            h = h + torch.relu(self.b(h))
        return self.head(h)


def compiled_or_eager(module, example):
    """The graph must be whole for our exporter; if it is not, run as is."""
    fast = torch.compile(module, fullgraph=True, backend="aot_eager")
    try:
        fast(example)
    except Exception as err:
        print(f"torch.compile gave up with {type(err).__name__}, running eagerly:")
        traceback.print_exc(limit=1)
        torch._dynamo.reset()
        return module
    return fast


def main():
    torch.manual_seed(0)
    x = torch.randn(320, 16)
    y = (x**2).mean(1, keepdim=True)
    model = Gated()
    step = compiled_or_eager(model, x[:8])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        total = 0.0
        for batch in torch.randperm(len(x)).split(32):
            loss = nn.functional.mse_loss(step(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / 10:.4f}")


if __name__ == "__main__":
    main()
