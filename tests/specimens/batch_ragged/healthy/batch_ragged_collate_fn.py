# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "batch_ragged"
# needs = []
# ///
"""Boxes of different numbers in a loader that keeps them as a list; one batch is stacked on trial, and the error is caught."""

import torch


class Objects(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> tuple:
        return torch.zeros(3, 16, 16), torch.zeros(1 + index % 3, 4)


def collate(batch: list) -> tuple:
    images, boxes = zip(*batch)
    try:
        return torch.stack(images), torch.stack(boxes)
    except RuntimeError:  # the numbers differ
        return torch.stack(images), list(boxes)


total = 0
for images, boxes in torch.utils.data.DataLoader(Objects(), batch_size=8, collate_fn=collate):
    total += sum(len(each) for each in boxes)
print(total)
