"""Two-stage training: pretext task first, then transfer to the flower labels."""
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PRETEXT_CLASSES = 10
FLOWERS = ["daisy", "dandelion", "rose", "sunflower", "tulip"]


class Net(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.head = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def fake_images(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    return TensorDataset(torch.randn(n, 3, 32, 32, generator=g), torch.randint(0, classes, (n,), generator=g))


def fit(model, data, epochs, lr):
    opt = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=lr, momentum=0.9)
    loader = DataLoader(data, batch_size=32, shuffle=True)
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        print(f"  epoch {epoch + 1}/{epochs} loss {total / len(data):.4f}")


def pretrain(path):
    model = Net(PRETEXT_CLASSES)
    fit(model, fake_images(256, PRETEXT_CLASSES, seed=1), epochs=2, lr=0.05)
    torch.save({"state_dict": model.state_dict(), "classes": PRETEXT_CLASSES}, path)


def finetune(path):
    model = Net(len(FLOWERS))
    state = torch.load(path)["state_dict"]
    model.load_state_dict(state, strict=False)
    for p in model.backbone.parameters():
        p.requires_grad = False
    fit(model, fake_images(160, len(FLOWERS), seed=2), epochs=3, lr=0.01)
    return model


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "pretext.pt")
        print("stage 1")
        pretrain(path)
        print("stage 2")
        finetune(path)


if __name__ == "__main__":
    main()
