# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 40
# near = "generator_blocked"
# needs = []
# ///
"""A program that holds a PyTorch model and opens a named pipe by which it is told what to do: it waits there until somebody
writes into it."""

import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

import torch

torch.set_num_threads(1)


def write_commands(pipe: Path) -> None:
    for pause, command in ((3, "predict 1"), (20, "predict 2"), (2, "end")):
        time.sleep(pause)
        pipe.write_text(command)


folder = Path(tempfile.mkdtemp(prefix="unstall-specimen-"))
try:
    pipe = folder / "commands"
    os.mkfifo(pipe)
    model = torch.nn.Linear(4, 2)
    threading.Thread(target=write_commands, args=(pipe,), daemon=True).start()
    print("ready", flush=True)
    while (command := pipe.read_text()) != "end":
        with torch.no_grad():
            print(command, model(torch.ones(1, 4)).tolist(), flush=True)
finally:
    shutil.rmtree(folder, ignore_errors=True)
