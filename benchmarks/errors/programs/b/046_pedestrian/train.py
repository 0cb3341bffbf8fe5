import argparse
import tempfile

import torch
from torch.utils.data import DataLoader, random_split

from data import PedestrianBoxes, write_fixture
from model import GridDetector, encode


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--workers", type=int, default=2)
    return p.parse_args()


def make_loaders(root, args):
    full = PedestrianBoxes(root)
    n_val = len(full) // 5
    gen = torch.Generator().manual_seed(0)
    train_set, val_set = random_split(full, [len(full) - n_val, n_val], generator=gen)
    train = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, num_workers=args.workers)
    val = DataLoader(val_set, batch_size=1, num_workers=args.workers)
    return train, val


def train_one_epoch(model, loader, optimizer):
    model.train()
    running = 0.0
    for images, targets in loader:
        wanted = encode(targets)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(images), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(loader)


def main():
    args = parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as root:
        write_fixture(root)
        train_loader, val_loader = make_loaders(root, args)
        model = GridDetector()
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        for epoch in range(args.epochs):
            loss = train_one_epoch(model, train_loader, optimizer)
            print(f"epoch {epoch}: loss {loss:.4f}")


if __name__ == "__main__":
    main()
