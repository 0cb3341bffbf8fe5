"""A training on a real Ray cluster of several nodes, all on this machine: it ends well, also when a worker is killed on its way.

    python -m benchmarks.ray_cluster [--nodes 2] [--faults none,kill_worker,kill_supervisor] [--out FILE]

Each node is a raylet of its own (`ray.cluster_utils.Cluster`) with room for one worker, so that Ray Train must spread them.
`unstall train --engine ray` runs on it as a person would type it. kill_worker kills the process that trains in a node other than the
first one's; our supervisor beside it must name it, and all must go on from the checkpoint. kill_supervisor kills our supervisor there:
Ray Train must start all workers anew. Told for each: whether the training ended well, after how many seconds, who was named, how
often workers were started, and from which step they went on.

Ray is 490 MB, and a cluster takes a quarter of a minute to stand: that is why this is no test.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unstall.journal.reader import read_folder
from unstall.runs import RunFolder

OUT = Path("benchmarks/results/ray_cluster.json")
FAULTS = ("none", "kill_worker", "kill_supervisor")
SETTINGS = (
    "--model", "ssd_tiny", "--detector", "image_px=64,64", "--shapes", "200", "--batch-size", "8", "--epochs", "8", "--backend", "jax",
    "--checkpoint-every-steps", "10", "--evaluate-every-epochs", "0", "--no-tensorboard",
)  # fmt: skip
ENDS_WITHIN_S = 420
STEPS_BEFORE = 15  # of the run, before something befalls it: there is a checkpoint by then
NODE_MEMORY_BYTES = 80 * 2**20


@contextmanager
def cluster(nodes: int) -> Iterator[str]:
    """Its address."""
    from ray.cluster_utils import Cluster

    made = Cluster()
    try:
        for number in range(nodes):
            options = {"include_dashboard": False} if number == 0 else {}
            made.add_node(num_cpus=1, object_store_memory=NODE_MEMORY_BYTES, **options)
        yield str(made.address)
    finally:
        made.shutdown()


def measured(address: str, nodes: int, fault: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="unstall-ray-") as folder:
        run = Path(folder) / "run"
        command = [
            sys.executable,
            "-m",
            "unstall",
            "train",
            "--engine",
            "ray",
            "--workers",
            str(nodes),
            "--out",
            str(run),
            *SETTINGS,
        ]
        environment = {
            **os.environ,
            "RAY_ADDRESS": address,
            "RAY_USAGE_STATS_ENABLED": "0",
            "OMP_NUM_THREADS": "1",
            "KERAS_BACKEND": "jax",
        }
        began = time.monotonic()
        with (Path(folder) / "output.txt").open("w+b") as output:
            process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                struck = _strike(run, fault, process)
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
            "end": said[-1500:],
        }


def _strike(run: Path, fault: str, process: subprocess.Popen[bytes]) -> str:
    """Kills what the fault says, once the run has come so far; what it killed, in words."""
    if fault == "none":
        return ""
    own = RunFolder(run).of_worker(1).path
    until = time.monotonic() + ENDS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        checkpoints = list((run / "checkpoints").glob("*/manifest.json"))
        victim = _process("unstall.training" if fault == "kill_worker" else "unstall train", str(own))
        if checkpoints and victim is not None:
            os.kill(victim, signal.SIGKILL)
            return f"process {victim}"
        time.sleep(0.2)
    return "nothing: it was over before"


def _process(what: str, folder: str) -> int | None:
    """Of this command line, for the run in that folder."""
    import psutil

    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        is_ours = (
            folder in line if what == "unstall.training" else folder.removesuffix("/workers/1") in line and "--go-on" in line
        )
        if what.replace("unstall train", "unstall train") in line and is_ours:
            if what == "unstall train" and process.environ().get("UNSTALL_WORKER") != "1":
                continue
            return int(process.pid)
    return None


def _seen(run: Path, nodes: int) -> dict[str, Any]:
    """By the journals of all workers."""
    began: dict[str, list[int]] = {}
    faltered: list[str] = []
    for worker in range(nodes):
        folder = RunFolder(run).of_worker(worker)
        if not folder.path.is_dir():
            continue
        events = read_folder(folder.path).events
        began[str(worker)] = [each.from_step for each in events if type(each).__name__ == "TrainingBegan"]
        faltered += [f"worker {each.worker}: {each.how}" for each in events if type(each).__name__ == "WorkerFaltered"]
    return {"went_on_from": began, "named": faltered}


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
        with cluster(given.nodes) as address:
            rows.append(measured(address, given.nodes, fault))
        row = rows[-1]
        told = f"{fault:16} ended with {row['code']} after {row['seconds']:.0f} s; went on from {row['went_on_from']}; {row['named']}"
        print(told, flush=True)
        given.out.write_text(json.dumps({"nodes": given.nodes, "runs": rows}, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["code"] == 0 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
