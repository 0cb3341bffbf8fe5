# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "python"
# ends = "hangs"
# seconds = 30
# near = "queue_wait_between_steps"
# needs = []
# ///
"""A plain PyTorch loop, without Keras, over a generator of its own. The generator reads a tar stream that another
program writes; that program stops in the middle of a file."""

import os
import sys
import threading
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

torch.set_num_threads(1)
RECORD = 9 * 16 * 4


def stream_records(writer: int) -> None:
    for number in range(500):
        os.write(writer, torch.randn(16, 9, generator=torch.Generator().manual_seed(number)).numpy().tobytes())
        time.sleep(0.01)
    os.write(writer, b"\0" * 100)
    mark()
    threading.Event().wait()


class Stream:
    def __init__(self, reader: int) -> None:
        self.file = os.fdopen(reader, "rb")

    def next_record(self) -> bytes:
        return self.file.read(RECORD)  # BLOCKED HERE

    def batches(self):
        while record := self.next_record():
            table = torch.frombuffer(bytearray(record), dtype=torch.float32).reshape(16, 9)
            yield table[:, :8], table[:, 8:]


reader, writer = os.pipe()
threading.Thread(target=stream_records, args=(writer,), name="tar", daemon=True).start()
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step, (features, labels) in enumerate(Stream(reader).batches()):
    loss = ((model(features) - labels) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
