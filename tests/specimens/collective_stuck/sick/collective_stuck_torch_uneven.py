# /// specimen
# cause = "collective_stuck"
# also = []
# where = "WAITS IN THE ALL-REDUCE"
# framework = "python"
# ends = "hangs"
# seconds = 45
# near = "two_processes_complete_torch"
# needs = ["two-processes"]
# ///
"""Two PyTorch processes average their gradients with all_reduce. Rank 1 has fewer batches, leaves the loop and waits for
rank 0's results file, while rank 0 waits for it in the next all_reduce."""

import os
import socket
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import die_with_parent
from onset import mark

torch.set_num_threads(1)
BATCHES = {0: 600, 1: 400}


def average_gradients(model: torch.nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)  # WAITS IN THE ALL-REDUCE
        parameter.grad /= dist.get_world_size()


def train(rank: int) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(BATCHES[rank]):
        features = torch.randn(16, 10)
        loss = ((model(features) - features.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        average_gradients(model)
        optimizer.step()
        time.sleep(0.003)
        if rank == 0 and step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


def main() -> None:
    rank = int(os.environ.get("RANK", "0"))
    if rank == 0:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(listener.getsockname()[1])
        subprocess.Popen([sys.executable, __file__], env=os.environ | {"RANK": "1"})
    else:
        die_with_parent()
    dist.init_process_group("gloo", rank=rank, world_size=2, timeout=timedelta(hours=1))
    train(rank)
    if rank == 1:
        mark()
        while not Path("/nonexistent/results.json").exists():
            time.sleep(1)
    print("done", flush=True)


main()
