"""Fine-grained pet classifier, baseline run."""
import os
import tempfile
import time
from glob import glob

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from fixtures import SPECIES, export_catalogue


class PetFolder(Dataset):
    def __init__(self, root, size=48):
        self.size = size
        self.items = []
        for label, name in enumerate(SPECIES):
            for path in sorted(glob(os.path.join(root, name, "*.png"))):
                self.items.append((path, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        img = Image.open(path).resize((self.size, self.size))
        x = torch.from_numpy(np.array(img)).permute(2, 0, 1).float().div(255)
        return x, label


class TinyNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.c1 = nn.Conv2d(3, 12, 5, stride=2)
        self.c2 = nn.Conv2d(12, 24, 3, stride=2)
        self.head = nn.Linear(24, n_classes)

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.relu(self.c2(x))
        return self.head(x.mean(dim=(2, 3)))


def accuracy(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return hits / total


def run(epochs=3):
    torch.manual_seed(5)
    root = tempfile.mkdtemp(prefix="pets_")
    export_catalogue(root)
    data = PetFolder(root)
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=2)
    net = TinyNet(len(SPECIES))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(epochs):
        t0 = time.time()
        net.train()
        for step, (x, y) in enumerate(loader):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            if step % 4 == 0:
                print(f"[{epoch}:{step}] {loss.item():.3f}")
        print(f"epoch {epoch} acc={accuracy(net, loader):.3f} in {time.time() - t0:.1f}s")


if __name__ == "__main__":
    run()
