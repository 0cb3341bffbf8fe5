import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from model import RoutedMLP


def get_args(argv=None):
    parser = argparse.ArgumentParser(description="routed MLP on synthetic blobs")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--backend", default="aot_eager")
    return parser.parse_args(argv)


def blobs(n=512, d=16, k=4):
    centers = 2.0 * torch.randn(k, d)
    y = torch.randint(0, k, (n,))
    return TensorDataset(centers[y] + torch.randn(n, d), y)


def main():
    args = get_args()
    torch.manual_seed(3)
    loader = DataLoader(blobs(), batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = RoutedMLP()
    forward = model
    if not args.no_compile:
        forward = torch.compile(model, backend=args.backend, fullgraph=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=args.epochs * len(loader))
    for epoch in range(args.epochs):
        seen = hits = 0
        for x, y in loader:
            logits = forward(x)
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            hits += (logits.argmax(1) == y).sum().item()
            seen += len(y)
        print(f"epoch {epoch}: train accuracy {hits / seen:.3f}, lr {scheduler.get_last_lr()[0]:.2e}")


if __name__ == "__main__":
    main()
