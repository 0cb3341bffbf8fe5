# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "python"
# ends = "hangs"
# seconds = 30
# near = "commands_from_named_pipe"
# needs = []
# ///
"""Before the first step every picture is opened, to sort them by their shape. One is a named pipe, left behind by a program that
was to fill it: opening it does not return."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

torch.set_num_threads(1)


def size_of(path: Path) -> int:
    with path.open("rb") as file:  # BLOCKED HERE
        return len(file.read())


folder = Path(tempfile.mkdtemp(prefix="unstall-specimen-"))
try:
    paths = [folder / f"picture_{number:03d}.png" for number in range(20)]
    for path in paths:
        path.write_bytes(os.urandom(200))
    paths[12].unlink()
    os.mkfifo(paths[12])
    print("looking at", len(paths), "pictures", flush=True)
    mark()
    sizes = {path: size_of(path) for path in paths}
    model = torch.nn.Linear(1, 1)
    print(model(torch.tensor([[float(size)] for size in sizes.values()])).sum())
finally:
    shutil.rmtree(folder, ignore_errors=True)
