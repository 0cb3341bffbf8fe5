# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "generator_blocked"
# needs = ["two-processes"]
# ///
"""Keras on PyTorch, fit over a DataLoader with two worker processes that wait 3 s for a shard now and then."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch


class Shards(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 1600

    def __getitem__(self, index: int):
        if index % 800 == 799:
            time.sleep(3)  # the next shard is fetched
        row = torch.randn(9, generator=torch.Generator().manual_seed(index))
        return row[:8], row[8:]


if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Shards(), batch_size=8, num_workers=2, persistent_workers=True)
    model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.025))  # a larger model
    model.fit(loader, epochs=3, verbose=2, callbacks=[slow])
