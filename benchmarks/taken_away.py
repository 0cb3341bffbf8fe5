"""Two machines with a bucket between them, told of each other as Vertex AI or Kubeflow does; taken away, and two others go on.

    python -m benchmarks.taken_away [--engines vertex,kubeflow] [--out FILE]

A machine is `unstall train --resume auto --out gs://…` with a disk of its own (a state directory that nobody else has), the
variables of the engine, and Google's storage emulator on loopback as the bucket. When there is a checkpoint, the machine of
worker 1 gets SIGTERM, then the other one; both disks are deleted; the same two commands are started again. Told: the seconds
from SIGTERM to the end, the exit codes, from which step the new machines went on, and whether the last loss is that of an
undisturbed run."""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.storage import emulators

from benchmarks import written
from unstall.journal.events import TrainingBegan
from unstall.journal.reader import read_folder

OUT = Path("benchmarks/results/taken_away.json")
PLACE = "gs://photos/runs/{name}"
SETTINGS = (
    "--model", "ssd_tiny", "--detector", "image_size=64,64", "--synthetic-images", "200", "--batch-size", "8", "--epochs", "20",
    "--backend", "jax", "--checkpoint-interval-steps", "10", "--eval-interval", "0", "--no-tensorboard", "--num-workers", "2",
)  # fmt: skip
ENDS_WITHIN_S = 600


def variables(engine: str, machine: int, port: int) -> dict[str, str]:
    """As the engine sets them on that machine of two."""
    if engine == "kubeflow":
        address = f"127.0.0.1:{port}"
        return {"JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": str(machine), "JAX_COORDINATOR_ADDRESS": address}
    cluster = {"workerpool0": [f"127.0.0.1:{port}"], "workerpool1": [f"localhost:{port}"]}
    return {"CLUSTER_SPEC": json.dumps({"cluster": cluster, "task": {"type": f"workerpool{machine}", "index": 0}})}


class Machines:
    """Two of them; what they print is not kept."""

    def __init__(self, engine: str, place: str, folder: Path, address: str, port: int) -> None:
        self._disks = [folder / f"disk-{machine}" for machine in range(2)]
        self._place = place
        command = [sys.executable, "-m", "unstall", "train", "--resume", "auto", "--out", place, *SETTINGS]
        self.processes = []
        for machine, disk in enumerate(self._disks):
            own = {**emulators.environment("gs", address), **variables(engine, machine, port), "XDG_STATE_HOME": str(disk)}
            environment = {**os.environ, **own, "OMP_NUM_THREADS": "1"}
            self.processes.append(
                subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )

    @property
    def run(self) -> Path:
        """Of the first, on its disk."""
        return self._disks[0].joinpath("unstall", "buckets", "gs", *self._place.removeprefix("gs://").split("/"))

    def wait_for_checkpoint(self) -> None:
        until = time.monotonic() + ENDS_WITHIN_S
        while not list(self.run.glob("checkpoints/*/manifest.json")) and time.monotonic() < until:
            time.sleep(0.2)

    def take_away(self) -> dict[str, Any]:
        seconds, codes = [], []
        for process in reversed(self.processes):
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            codes.append(process.wait(ENDS_WITHIN_S))
            seconds.append(time.monotonic() - began)
        for disk in self._disks:
            shutil.rmtree(disk)
        return {"ended_after_s": seconds, "codes_when_taken": codes}

    def end(self) -> dict[str, Any]:
        codes = [process.wait(ENDS_WITHIN_S) for process in self.processes]
        began = [each.from_step for each in read_folder(self.run).of(TrainingBegan)]
        with (self.run / "history.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return {"codes": codes, "went_on_from": began, "loss": float(rows[-1]["loss"]), "epochs": len(rows)}


def measured(engine: str, address: str, folder: Path) -> dict[str, Any]:
    place = PLACE.format(name=engine)
    before = Machines(engine, place, folder / "before", address, 18477)
    before.wait_for_checkpoint()
    taken = before.take_away()
    after = Machines(engine, place, folder / "after", address, 18478).end()
    return {"engine": engine, **taken, **after}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engines", default="vertex,kubeflow")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unstall-machines-") as folder, emulators.server("gs") as address:
        emulators.make_bucket("gs", address, "photos")
        whole = Machines("vertex", PLACE.format(name="whole"), Path(folder) / "whole", address, 18476).end()
        results: dict[str, Any] = {"undisturbed": whole, "taken_away": []}
        for engine in given.engines.split(","):
            results["taken_away"].append(measured(engine, address, Path(folder) / engine))
            print(json.dumps(results["taken_away"][-1]), flush=True)
            written.write(given.out, results)
    return 0 if all(row["codes"] == [0, 0] and row["loss"] == whole["loss"] for row in results["taken_away"]) else 1


if __name__ == "__main__":
    sys.exit(main())
