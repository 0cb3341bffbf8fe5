# /// specimen
# cause = "worker_missing"
# also = []
# where = "WAITS FOR THE OTHER RANK"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 60
# near = "workers_arrive_late"
# needs = []
# ///
"""Rank 0 of a Keras run on two PyTorch processes. The launcher never started rank 1, and init_process_group waits for it."""

import os
import socket
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def setup(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(free_port()))
    mark()
    torch.distributed.init_process_group("gloo", rank=rank, world_size=world_size)  # WAITS FOR THE OTHER RANK


setup(rank=0, world_size=2)
features = np.random.default_rng(0).normal(size=(1024, 8)).astype("float32")
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
parallel = torch.nn.parallel.DistributedDataParallel(model)
model.compile("adam", "mse")
model.fit(features, features.sum(axis=1, keepdims=True), batch_size=32, epochs=10, verbose=2)
