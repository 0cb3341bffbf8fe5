# /// specimen
# cause = "worker_slow"
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 60
# near = "crew_evaluates_alone_torch"
# needs = ["two-processes"]
# workers = 2
# ///
"""Two workers average their gradients. The data of worker 1 lies on a slow disk: each of its batches takes 60 ms, those of worker 0
none. Both make 10 steps a second, and worker 0 shows nothing but long steps."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from averaged import batch, join, keras, model
from onset import mark


class Images(keras.utils.PyDataset):
    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank

    def __len__(self) -> int:
        return 500

    def __getitem__(self, number: int):
        time.sleep(0.09 if self.rank == 1 else 0.0)  # reads it from the disk
        return batch(number)


rank = join()
mark()
model().fit(Images(rank), epochs=1, verbose=2, shuffle=False)
