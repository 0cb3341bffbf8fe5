import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader

from boxes import YoloFolder, write_split

CLASSES = 3


class Head(nn.Module):
    def __init__(self, slots=8):
        super().__init__()
        self.slots = slots
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(),
            nn.Conv2d(8, 16, 3, 2, 1), nn.SiLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )
        self.boxes = nn.Linear(256, slots * 4)
        self.classes = nn.Linear(256, slots * CLASSES)

    def forward(self, x):
        f = self.features(x)
        return self.boxes(f).view(-1, self.slots, 4), self.classes(f).view(-1, self.slots, CLASSES)


def criterion(pred_boxes, pred_classes, target):
    real = target[..., 0] >= 0
    box = nn.functional.l1_loss(pred_boxes[real].sigmoid(), target[real][:, 1:])
    cls = nn.functional.cross_entropy(pred_classes[real], target[real][:, 0].long())
    return box + 0.5 * cls


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as root:
        write_split(root)
        loader = DataLoader(YoloFolder(root), batch_size=6, shuffle=True, num_workers=2, persistent_workers=True)
        net = Head()
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        for epoch in range(3):
            for i, (images, targets) in enumerate(loader):
                loss = criterion(*net(images), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch} last loss {loss.item():.4f}", flush=True)
