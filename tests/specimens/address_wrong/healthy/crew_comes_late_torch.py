# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 45
# near = "address_wrong"
# needs = ["two-processes"]
# workers = 2
# ///
"""Two workers that meet at localhost, on one machine. The second comes twelve seconds late, and both end in order."""

import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
time.sleep(12 * rank)
dist.init_process_group("gloo", f"tcp://localhost:{os.environ['MASTER_PORT']}", timedelta(minutes=10), size, rank)
total = torch.ones(1)
for _ in range(20):
    dist.all_reduce(total)
    time.sleep(0.1)
dist.destroy_process_group()
