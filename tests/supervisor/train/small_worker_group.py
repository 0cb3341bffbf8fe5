"""One of several workers that train nothing, and else do as the real ones: they step together, worker 0 saves, all end.

A step is done when all have come to it: they tell each other through files of the run folder. fates-K.json says what befalls
worker K, for each start a fate, as in small_worker.py: {"at": 12, "signal": 9}, {"at": 12, "exit": 76}, {"at": 3, "sleeps": 60};
{"at": 12, "loses": 3} hears that worker 3 is gone, and waits for it; {"steps": 1000} lets it make so many.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.supervisor.train.small_worker import SAVES_EVERY, STEPS, end
from unstall.base.files import write_whole
from unstall.base.processes import end_with_parent
from unstall.journal.events import CheckpointCompleted, OthersMissed, TrainingBegan, TrainingEnded, WorkerJoined
from unstall.journal.run_folder import RunFolder
from unstall.probe.core import step_counter
from unstall.probe.startup import begin
from unstall.training.distributed import collectives as collectives_module
from unstall.training.distributed import engines
from unstall.training.distributed.collectives import Collectives, OthersLeft

STEP_S = 0.02
PATIENCE_S = 2.0
collectives_module.LAST_LOOK_S = 0.02  # steps are short here
step_counter.EVERY_S = 0.25  # and so is their history


class Files:
    """A channel of files, new for each start: the coordinator's port names it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, key: str, value: bytes) -> None:
        write_whole(self.folder / key.replace("/", "_"), value.decode())

    def get(self, key: str) -> bytes | None:
        try:
            return (self.folder / key.replace("/", "_")).read_bytes()
        except OSError:
            return None

    def forget(self, key: str) -> None:
        (self.folder / key.replace("/", "_")).unlink(missing_ok=True)


def main(run: RunFolder) -> int:
    who = engines.read_own_process_env(os.environ)
    own = run.of_worker(who.rank)
    end_with_parent()
    lived = len(list(own.path.glob("started-*.json")))
    write_whole(own.path / f"started-{lived}.json", json.dumps({**run.read_settings(), "met_at": who.coordinator}))
    faults = run.path / f"fates-{who.rank}.json"
    faults_of_worker = json.loads(faults.read_text()) if faults.exists() else []
    asked: list[float] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.append(time.monotonic()))
    probe = begin(own)
    assert probe is not None
    collectives = Collectives(who, Files(run.path / f"met-{who.coordinator.rpartition(':')[2]}"), lambda: leave_if(asked))
    try:
        return train(run, collectives, probe, faults_of_worker[lived] if lived < len(faults_of_worker) else {}, asked)
    except OthersLeft:
        return 75


def leave_if(asked: list[float]) -> None:
    """Where the others do not come any more."""
    if asked and time.monotonic() - asked[0] > PATIENCE_S:
        raise OthersLeft


def train(run: RunFolder, collectives: Collectives, probe: Any, fault: dict[str, Any], asked: list[float]) -> int:
    who = collectives.who
    run.checkpoints_path.mkdir(exist_ok=True)
    saved = [int(path.name[5:]) for path in run.checkpoints_path.iterdir()]
    first = collectives.broadcast(lambda: max(saved, default=0))
    probe.emit(WorkerJoined(at=time.time(), worker=who.rank, of=who.world_size, pid=os.getpid(), coordinator=who.coordinator))
    probe.emit(TrainingBegan(at=time.time(), device="cpu", examples=1000, steps_per_epoch=STEPS, epochs=1, from_step=first))
    probe.fit_began(None, "own_loop", "none", 1, STEPS, None)
    probe.epoch_began(0)
    for step in range(first, fault.get("steps", STEPS)):
        probe.step_began()
        if step == fault.get("at"):
            cause_fault(run, fault, step, probe, asked)
        time.sleep(STEP_S)
        ends = any(collectives.all_gather(bool(asked)))
        probe.step_ended(None, 0.0, lambda: (1.0, 0))
        if who.is_first and ((step + 1) % SAVES_EVERY == 0 or ends):
            path = run.checkpoints_path / f"step-{step + 1:09}"
            path.mkdir(exist_ok=True)
            probe.emit(CheckpointCompleted(at=time.time(), step=step + 1, path=str(path)))
        if ends:
            return 75
    probe.fit_ended()
    probe.emit(TrainingEnded(at=time.time(), step=STEPS, exit_name="done"))
    return 0


def cause_fault(run: RunFolder, fault: dict[str, Any], step: int, probe: Any, asked: list[float]) -> None:
    if "loses" in fault:
        probe.emit(OthersMissed(at=time.time(), worker=1, of=2, gone=[fault["loses"]]))
        reads_from_a_disk_that_is_gone(60, asked)
    elif "sleeps" in fault:
        reads_from_a_disk_that_is_gone(fault["sleeps"], asked)
    elif fault.get("signal") == signal.SIGSTOP:
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        sys.exit(end(run, fault, step, probe.emit))


def reads_from_a_disk_that_is_gone(seconds: float, asked: list[float]) -> None:
    """Until the disk comes back, or somebody asks for the end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not asked:
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main(RunFolder(Path(sys.argv[1]))))
