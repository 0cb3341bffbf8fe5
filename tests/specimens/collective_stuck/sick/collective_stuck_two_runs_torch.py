# /// specimen
# cause = "collective_stuck"
# also = ["generator_blocked", "callback_blocked"]
# where = "WAITS FOR THE SCORER"
# framework = "keras-torch"
# ends = "hangs"
# seconds = 50
# near = "crew_evaluates_alone_torch"
# needs = ["two-processes"]
# workers = 2
# ///
"""Two workers average their gradients, each watched by itself. After 100 steps worker 1 waits for a scorer that does not run; worker 0
waits for it in the next all-reduce, and its own journal cannot say why."""

import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from averaged import batch, join, keras, model
from onset import mark


class Images(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 2000

    def __getitem__(self, number: int):
        return batch(number)


class Scores(keras.callbacks.Callback):
    def on_train_batch_end(self, number: int, logs=None) -> None:
        if rank == 1 and number == 100:
            mark()
            here, _there = socket.socketpair()
            here.recv(1)  # WAITS FOR THE SCORER


rank = join()
model().fit(Images(), epochs=1, verbose=2, shuffle=False, callbacks=[Scores()])
