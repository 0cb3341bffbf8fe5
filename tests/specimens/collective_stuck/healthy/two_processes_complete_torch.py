# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 45
# near = "collective_stuck"
# needs = ["two-processes"]
# ///
"""Two PyTorch processes with averaged gradients. Rank 1 saves for three seconds now and then while rank 0 waits in the
all_reduce, and both come to the end."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import die_with_parent

torch.set_num_threads(1)
rank = int(os.environ.get("RANK", "0"))
if rank == 0:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(listener.getsockname()[1])
    other = subprocess.Popen([sys.executable, __file__], env=os.environ | {"RANK": "1"})
else:
    die_with_parent()
dist.init_process_group("gloo", rank=rank, world_size=2)
model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(600):
    features = torch.randn(16, 10)
    loss = ((model(features) - features.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= 2
    optimizer.step()
    time.sleep(0.01)
    if rank == 1 and step % 200 == 150:
        time.sleep(3)  # writes a checkpoint
    if rank == 0 and step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
if rank == 0:
    other.wait()
