# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 90
# near = "ids_out_of_range"
# needs = []
# ///
"""A row more for unknown words; and an index that is out of range elsewhere, which is caught."""

import torch

WORDS = {word: number for number, word in enumerate("the cat sat on a mat".split())}

if __name__ == "__main__":
    net = torch.nn.Sequential(torch.nn.Embedding(len(WORDS) + 1, 8), torch.nn.Flatten(), torch.nn.Linear(24, 2))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for text in ["the cat sat", "a cat sat", "the dog sat"]:
        ids = torch.tensor([[WORDS.get(word, len(WORDS)) for word in text.split()]])
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(ids), torch.tensor([1])).backward()
        optimizer.step()
    try:
        torch.zeros(3)[torch.tensor([7])]
    except IndexError as error:
        print(error)
