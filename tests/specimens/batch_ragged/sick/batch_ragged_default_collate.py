# /// specimen
# cause = "batch_ragged"
# also = []
# where = "LOADED HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "batch_ragged_collate_fn"
# needs = []
# ///
"""A data set of PyTorch gives an image and its boxes, and the loader's own collate function stacks both."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Objects(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> tuple:
        return torch.zeros(3, 16, 16), torch.zeros(1 + index % 3, 4)


def main() -> None:
    loader = torch.utils.data.DataLoader(Objects(), batch_size=8)  # LOADED HERE
    mark()
    for images, boxes in loader:
        print(images.shape, boxes.shape)


if __name__ == "__main__":
    main()
