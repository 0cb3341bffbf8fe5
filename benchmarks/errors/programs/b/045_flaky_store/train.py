import logging
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from storage import BlobStore, with_retries

logging.basicConfig(level=logging.WARNING, format="%(name)s %(levelname)s %(message)s")


class Blobs(Dataset):
    def __init__(self, store, n):
        self.n = n
        self.read = with_retries(store.get)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        row = torch.from_numpy(self.read(f"sample-{i}"))
        return row[:-1], row[-1:]


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as root:
        for i in range(120):
            x = rng.normal(size=6)
            np.save(f"{root}/sample-{i}.npy", np.append(x, x.sum()).astype(np.float32))
        loader = DataLoader(Blobs(BlobStore(root), 120), batch_size=20, shuffle=True)
        model = nn.Linear(6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(4):
            for x, y in loader:
                loss = nn.functional.mse_loss(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
