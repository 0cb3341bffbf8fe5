"""A worker that trains nothing, and else does as the real one: it reads settings, takes the newest checkpoint, steps, saves, ends.

fates.json in the run folder says what befalls it: for each start a fate, {"at": 12, "exit": 77} or {"at": 12, "signal": 9}. After the
last fate nothing more does. No framework is needed, so that many lives can be tested in seconds.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from unstall.base.files import write_whole
from unstall.journal.events import (
    CheckpointCompleted,
    CheckpointFailed,
    LossDiverged,
    MemoryExhausted,
    TrainingBegan,
    TrainingEnded,
    UpdateSkipped,
)
from unstall.journal.run_folder import RunFolder
from unstall.probe.startup import begin

STEPS = 40
SAVES_EVERY = 10
STEP_S = 0.01
OF_DEVICE = "RESOURCE_EXHAUSTED: out of memory"


def main(run: RunFolder) -> int:
    settings = run.read_settings()
    lived = len(list(run.path.glob("started-*.json")))
    write_whole(run.path / f"started-{lived}.json", json.dumps(settings))
    faults = json.loads((run.path / "fates.json").read_text())
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.append(1))
    return train(run, faults[lived] if lived < len(faults) else {}, asked)


def train(run: RunFolder, fault: dict[str, Any], asked: list[int]) -> int:
    probe = begin(run)
    assert probe is not None
    run.checkpoints_path.mkdir(exist_ok=True)
    first = max((int(path.name[5:]) for path in run.checkpoints_path.iterdir()), default=0)
    probe.emit(TrainingBegan(at=time.time(), device="cpu", examples=1000, steps_per_epoch=STEPS, epochs=1, from_step=first))
    probe.fit_began(None, "own_loop", "none", 1, STEPS, None)
    probe.epoch_began(0)
    for step in range(first, STEPS):
        probe.step_began()
        if step == fault.get("at") and fault.get("signal") == signal.SIGSTOP:
            os.kill(os.getpid(), signal.SIGSTOP)  # it stands still until somebody lets it go on
        elif step == fault.get("at"):
            return end(run, fault, step, probe.emit)
        time.sleep(fault.get("step_s", STEP_S))
        probe.step_ended(None, 0.0, lambda: (1.0, 0))
        if (step + 1) % SAVES_EVERY == 0 or asked:
            path = run.checkpoints_path / f"step-{step + 1:09}"
            if fault.get("disk_is_full"):
                probe.emit(CheckpointFailed(at=time.time(), step=step + 1, path=str(path), error="No space left on device"))
                continue
            path.mkdir(parents=True)  # as the real one does: its folder may have been deleted
            probe.emit(CheckpointCompleted(at=time.time(), step=step + 1, path=str(path)))
        if asked:
            return 75
    probe.fit_ended()
    probe.emit(TrainingEnded(at=time.time(), step=STEPS, exit_name="done"))
    return int(fault.get("at_exit", 0))


def end(run: RunFolder, fault: dict[str, Any], step: int, emit: Any) -> int:
    now = time.time()
    if fault.get("exit") == 76:
        emit(MemoryExhausted(at=now, step=step, phase="train", micro_batch_size=8, message=fault.get("message", OF_DEVICE)))
    elif fault.get("exit") == 77:
        emit(UpdateSkipped(at=now, step=step, what="loss", rows=fault["rows"], in_a_row=fault["in_a_row"]))
    elif fault.get("exit") == 78:
        emit(LossDiverged(at=now, step=step, loss=50.0, usual_loss=1.0, since_step=fault["since"]))
    elif "signal" in fault:
        os.kill(os.getpid(), fault["signal"])
        time.sleep(60)
    return int(fault["exit"])


if __name__ == "__main__":
    sys.exit(main(RunFolder(Path(sys.argv[1]))))
