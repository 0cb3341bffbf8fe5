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
"""Workers of a loader meet a broken image and one with an alpha channel; the program catches both errors and leaves the batches out."""

import torch


class Images(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.items = [(f"{number}.png", number) for number in range(40)]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> tuple:
        path, number = self.items[index]
        if number == 17:
            raise ValueError(f"{path} is broken")
        return torch.ones(4 if number == 29 else 3, 8), number % 2


model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
left_out = 0
for _ in range(2):
    batches = iter(torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=2))
    while True:
        try:
            images, classes = next(batches)
        except StopIteration:
            break
        except (ValueError, RuntimeError):
            left_out += 1
            continue
        loss = torch.nn.functional.cross_entropy(model(images.mean(1)), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print("batches left out:", left_out)
