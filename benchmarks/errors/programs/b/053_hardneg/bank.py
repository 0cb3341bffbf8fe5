"""Memory-mapped feature bank, shared by all loader workers."""
import numpy as np
import torch
from torch.utils.data import Dataset

DIM = 1024


def write_bank(path, features):
    with open(path, "wb") as f:
        f.write(np.ascontiguousarray(features, dtype=np.float32).tobytes())


class FeatureBank(Dataset):
    def __init__(self, path, labels):
        self.labels = labels
        self.rows = np.memmap(path, dtype=np.float32, mode="r", shape=(len(labels), DIM))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return i, torch.from_numpy(np.array(self.rows[i])), int(self.labels[i])
