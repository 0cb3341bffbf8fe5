# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 45
# near = "worker_missing"
# needs = ["two-processes"]
# ///
"""Two PyTorch processes. Rank 1 comes ten seconds late, as on a machine that still pulls its image; then both train a
Keras model with averaged gradients to the end."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import die_with_parent

rank = int(os.environ.get("RANK", "0"))
if rank == 0:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(listener.getsockname()[1])
    late = subprocess.Popen([sys.executable, __file__], env=os.environ | {"RANK": "1"})
else:
    die_with_parent()
    time.sleep(8)
import keras

torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=2)
model = keras.Sequential([keras.layers.Input((10,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
started = time.time()
for step in range(400):
    features = torch.randn(16, 10)
    loss = ((model(features) - features.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= 2
    optimizer.step()
    time.sleep(0.03)
    if rank == 0 and step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
if rank == 0:
    late.wait()
