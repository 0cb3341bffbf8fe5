# /// specimen
# cause = "worker_missing"
# also = []
# where = "WAITS FOR THE THIRD"
# framework = "python"
# ends = "hangs"
# seconds = 45
# near = "crew_comes_late_torch"
# needs = ["two-processes"]
# workers = 2
# of = 3
# ///
"""A training of three workers, of which two were started, each watched by itself. They wait for the third, and none says which lacks."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

mark()
dist.init_process_group("gloo", timeout=timedelta(minutes=10))  # WAITS FOR THE THIRD
print("met", flush=True)
