# /// specimen
# cause = "ids_out_of_range"
# also = []
# where = "TOO FEW ROWS"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 90
# near = "ids_out_of_range_counted"
# needs = []
# ///
"""The embedding has a row for each word of the dictionary, and none for the id of unknown words."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

WORDS = {word: number for number, word in enumerate("the cat sat on a mat".split())}
UNKNOWN = len(WORDS)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(len(WORDS), 8)  # TOO FEW ROWS
        self.head = torch.nn.Linear(8, 2)

    def forward(self, ids):
        return self.head(self.words(ids).mean(dim=1))


if __name__ == "__main__":
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    mark()
    for text in ["the cat sat", "a cat sat", "the dog sat"]:
        ids = torch.tensor([[WORDS.get(word, UNKNOWN) for word in text.split()]])
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(ids), torch.tensor([1])).backward()
        optimizer.step()
