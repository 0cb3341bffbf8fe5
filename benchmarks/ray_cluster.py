"""A training on a real Ray cluster of several nodes, all on this machine: it ends well, also when a worker is killed on its way.

    python -m benchmarks.ray_cluster [--nodes 2] [--faults none,kill_worker,…] [--out FILE]

Each node is a raylet of its own (`ray.cluster_utils.Cluster`) with room for one worker, so that Ray Train must spread them.
`unstall train --engine ray` runs on it as a person would type it. kill_worker kills the process of worker 1 that trains: our
supervisor beside it must name it, and all must go on from the checkpoint. kill_supervisor kills our supervisor there: Ray Train
must start all workers anew. lose_node takes a whole node away, and gives another one in its place. Told for each: whether the
training ended well, after how many seconds, who was named, and from which steps workers went on.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import written
from unstall.journal.events import PlanMade, TrainingBegan, TrainingEnded, WorkerFaltered
from unstall.journal.reader import read_folder
from unstall.journal.run_folder import RunFolder

OUT = Path("benchmarks/results/ray_cluster.json")
COMMANDS = {
    "kill_worker": "-m unstall.training",
    "kill_supervisor": "-m unstall train --resume auto",
}  # of the process that is killed
FAULTS = ("none", *COMMANDS, "lose_node")
SETTINGS = (
    "--model", "ssd_tiny", "--detector", "image_size=64,64", "--synthetic-images", "200", "--batch-size", "8", "--epochs", "20",
    "--backend", "jax", "--checkpoint-interval-steps", "10", "--eval-interval", "0", "--no-tensorboard",
)  # fmt: skip
ENDS_WITHIN_S = 420
NODE_MEMORY_BYTES = 80 * 2**20


class Nodes:
    """A cluster: the first node is its head."""

    def __init__(self, count: int) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster()
        self._nodes = [self._added(include_dashboard=False), *(self._added() for _ in range(count - 1))]

    def _added(self, **options: Any) -> Any:
        return self.cluster.add_node(num_cpus=1, object_store_memory=NODE_MEMORY_BYTES, **options)

    def lose_the_last(self) -> None:
        """At once, as a machine is lost; another one takes its place."""
        self.cluster.remove_node(self._nodes.pop(), allow_graceful=False)
        self._nodes.append(self._added())


@contextmanager
def cluster(nodes: int) -> Iterator[Nodes]:
    made = Nodes(nodes)
    try:
        yield made
    finally:
        made.cluster.shutdown()


def measured(there: Nodes, nodes: int, fault: str, settings: Sequence[str] = SETTINGS) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="unstall-ray-") as folder:
        run = Path(folder) / "run"
        command = [
            sys.executable,
            "-m",
            "unstall",
            "train",
            "--engine",
            "ray",
            "--num-workers",
            str(nodes),
            "--out",
            str(run),
            *settings,
        ]
        environment = {
            **os.environ,
            "RAY_ADDRESS": str(there.cluster.address),
            "RAY_USAGE_STATS_ENABLED": "0",
            "OMP_NUM_THREADS": "1",
            "KERAS_BACKEND": "jax",
        }
        began = time.monotonic()
        with (Path(folder) / "output.txt").open("w+b") as output:
            process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                struck = _strike(run, fault, process, there)
                code = process.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code, struck = None, "timed out"
            output.seek(0)
            said = output.read().decode(errors="replace")
        return {
            "fault": fault,
            "struck": struck,
            "code": code,
            "seconds": time.monotonic() - began,
            **_seen(run, nodes),
            "said": "" if code == 0 else said[-1500:],
        }


def _strike(run: Path, fault: str, process: subprocess.Popen[bytes], there: Nodes) -> str:
    """Takes away what the fault says, once there is a checkpoint to go on from; what it was, in words."""
    until = time.monotonic() + ENDS_WITHIN_S
    while fault != "none" and time.monotonic() < until and process.poll() is None:
        if not list(run.glob("checkpoints/*/manifest.json")):
            time.sleep(0.2)
        elif fault == "lose_node":
            there.lose_the_last()
            return "a node"
        elif (victim := _process_of_worker_1(run, COMMANDS[fault])) is not None:
            os.kill(victim, signal.SIGKILL)
            return f"process {victim}"
    return "nothing"


def _process_of_worker_1(run: Path, command: str) -> int | None:
    import psutil

    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if command in line and str(run) in line:
            try:
                is_wanted = process.environ().get("UNSTALL_WORKER") == "1"
            except psutil.Error:
                continue  # it has just ended
            if is_wanted:
                return int(process.pid)
    return None


def _seen(run: Path, nodes: int) -> dict[str, Any]:
    """By the journals of all workers: from which step each life of theirs went on, and who was named."""
    journals = {worker: read_folder(RunFolder(run).of_worker(worker).path) for worker in range(nodes)}
    went_on = {worker: [each.from_step for each in journal.of(TrainingBegan)] for worker, journal in journals.items()}
    faltered = [each for journal in journals.values() for each in journal.of(WorkerFaltered)]
    repaired = [f"{made.cause}: {made.happened}" for journal in journals.values() for made in journal.of(PlanMade)]
    ended = {worker: (end.exit_name, end.step) for worker, journal in journals.items() if (end := journal.last(TrainingEnded))}
    return {
        "went_on_from": went_on,
        "ended": ended,
        "named": [f"worker {each.worker} {each.how}" for each in faltered],
        "repaired": repaired,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    unknown = set(given.faults.split(",")) - set(FAULTS)
    if unknown:
        parser.error(f"--faults: expected some of {', '.join(FAULTS)}. Received: {', '.join(sorted(unknown))}")
    rows = []
    for fault in given.faults.split(","):
        with cluster(given.nodes) as there:
            rows.append(measured(there, given.nodes, fault))
        row = rows[-1]
        print(f"{fault:16} ended with {row['code']} after {row['seconds']:.0f} s, went on from {row['went_on_from']}", flush=True)
        print(f"{'':16} named: {row['named']}; repaired: {row['repaired']}", flush=True)
        written.write(given.out, {"nodes": given.nodes, "runs": rows})
    return 0 if all(row["code"] == 0 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
