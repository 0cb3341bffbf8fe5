# /// specimen
# cause = "address_wrong"
# also = ["worker_missing"]
# where = ""
# framework = "python"
# ends = "hangs"
# seconds = 45
# near = "crew_comes_late_torch"
# needs = ["two-processes"]
# workers = 2
# ///
"""Two workers that shall meet at the port of the first. The script adds the number of the worker to the port, as it was written for
servers that need one each: worker 1 looks where nobody listens, and both wait."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
port = int(os.environ["MASTER_PORT"]) + rank
mark()
dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", timedelta(minutes=10), size, rank)
print("met", flush=True)
