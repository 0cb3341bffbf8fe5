# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 60
# near = "clocks_apart"
# needs = ["two-processes"]
# workers = 2
# ///
"""Two workers average their gradients. One begins eight seconds after the other, the last batch is smaller on one of them, and a
large image holds both now and then. Their clocks are the same."""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
if os.environ["RANK"] == "1":
    time.sleep(8)  # pulls its image
from averaged import batch, join, keras, model


class Images(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 250

    def __getitem__(self, number: int):
        time.sleep(0.04 + (0.4 if number % 50 == 7 else 0.0))
        features, targets = batch(number)
        rows = 5 if number == 249 and rank == 1 else 16
        return features[:rows], targets[:rows]


rank = join()
model().fit(Images(), epochs=1, verbose=2, shuffle=False)
