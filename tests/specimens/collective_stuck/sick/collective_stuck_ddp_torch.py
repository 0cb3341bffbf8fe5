# /// specimen
# cause = "collective_stuck"
# also = []
# where = "WAITS FOR THE OTHER GRADIENTS"
# framework = "keras-torch"
# ends = "hangs"
# seconds = 50
# near = "two_processes_complete_torch"
# needs = ["two-processes"]
# ///
"""A Keras model in PyTorch's DistributedDataParallel on two processes. Rank 1 drops into an evaluation that waits for an
answer; rank 0 waits in backward for rank 1's gradients."""

import os
import queue
import socket
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import die_with_parent
from onset import mark

torch.set_num_threads(1)


def join() -> int:
    rank = int(os.environ.get("RANK", "0"))
    if rank == 0:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(listener.getsockname()[1])
        subprocess.Popen([sys.executable, __file__], env=os.environ | {"RANK": "1"})
    else:
        die_with_parent()
    dist.init_process_group("gloo", rank=rank, world_size=2, timeout=timedelta(hours=1))
    return rank


def evaluate(answers: queue.Queue) -> float:
    mark()
    return answers.get()


rank = join()
model = keras.Sequential([keras.layers.Input((10,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
parallel = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(10**6):
    features = torch.randn(16, 10)
    loss = ((parallel(features) - features.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()  # WAITS FOR THE OTHER GRADIENTS
    optimizer.step()
    time.sleep(0.003)
    if rank == 1 and step == 400:
        print("score", evaluate(queue.Queue()))
    if rank == 0 and step % 100 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
