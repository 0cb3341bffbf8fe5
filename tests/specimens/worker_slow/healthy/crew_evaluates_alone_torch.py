# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 60
# near = "worker_slow"
# needs = ["two-processes"]
# workers = 2
# ///
"""Two workers average their gradients. Both read as slowly, worker 0 alone evaluates after each epoch for some seconds, and worker 1
takes longer for its first step. None of this is a slow worker."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from averaged import batch, join, keras, model


class Images(keras.utils.PyDataset):
    def __init__(self, count: int, seconds: float) -> None:
        super().__init__()
        self.count = count
        self.seconds = seconds

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int):
        time.sleep(self.seconds)
        return batch(number)


rank = join()
if rank == 1:
    time.sleep(6)  # compiles for longer
kept = {"validation_data": Images(60, 0.06)} if rank == 0 else {}
model().fit(Images(150, 0.05), epochs=3, verbose=2, shuffle=False, **kept)
