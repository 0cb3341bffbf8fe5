# /// specimen
# cause = "clocks_apart"
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 60
# near = "crew_starts_apart_torch"
# needs = ["two-processes", "cc"]
# workers = 2
# ahead_s = 90
# ///
"""Two workers average their gradients, on machines of which one sets its clock by no server: it is 90 s ahead."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from averaged import batch, join, keras, model
from onset import mark


class Images(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 300

    def __getitem__(self, number: int):
        time.sleep(0.05 + (0.3 if number % 40 == 7 else 0.0))  # now and then a large one
        return batch(number)


join()
mark()
model().fit(Images(), epochs=1, verbose=2, shuffle=False)
