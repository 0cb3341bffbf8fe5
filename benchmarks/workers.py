"""What a training on several hosts survives: real faults of processes and of the network between them.

    python -m benchmarks.workers [--count 100] [--hosts 2,4] [--kinds kill,stop,…] [--out FILE] [--seconds-each 300]

Each host is a network namespace with an address of its own (benchmarks/hosts.py), on which `unstall train` supervises one worker
of the run: nothing but the workers' own messages crosses from one to another. Needs root. A fault comes some steps after the
recovery from that before. Told for each: survived (the training got past the step that it came in), ended (every host has ended
and said why) or hung; the seconds until some supervisor said what it saw, and until the training got on. What was measured before
stays in the file, and a further call goes on from there.

kill, stop     a worker other than 0, by SIGKILL or SIGSTOP
coordinator    worker 0, by SIGKILL
terminate      a worker other than 0, by SIGTERM
freeze         a whole host stands still for 60 s: the worker and its supervisor, by SIGSTOP
slow           a worker is given a tenth of a core for 30 s
delay          every packet takes 150 ms longer, for 15 s
loss           every tenth packet is lost, for 15 s
cut            a host reaches nobody for 60 s
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import written
from benchmarks.hosts import AccessDeniedError, Hosts
from unstall.journal.events import Event, OthersLost, PlanMade, RunStarted, StepsEnded, TrainingBegan, WorkerFaltered
from unstall.journal.pulse import read_pulse
from unstall.journal.reader import FolderTail, Journal
from unstall.journal.run_folder import RunFolder

KINDS = ("kill", "stop", "coordinator", "terminate", "freeze", "slow", "delay", "loss", "cut")
SIGNALS = {"kill": signal.SIGKILL, "coordinator": signal.SIGKILL, "stop": signal.SIGSTOP, "terminate": signal.SIGTERM}
OUT = Path("benchmarks/results/workers.json")
PORT = 8476
BEGINS_WITHIN_S = 300.0
STEPS_BETWEEN = (3, 12)
PAST = 3  # steps that the training must get further
LASTS_S = {"freeze": 60.0, "slow": 30.0, "delay": 15.0, "loss": 15.0, "cut": 60.0}
BEFORE_S = {"slow": 20.0}  # that the training goes on undisturbed: what is slow is so against what was before
QUOTA = Path("/sys/fs/cgroup/cpu")
SETTINGS = [
    "--model=ssd_tiny", "--backend=jax", "--synthetic-images=64", "--val-split=0", "--batch-size=4", "--epochs=100000",
    "--warmup-steps=5", "--optimizer=sgd", "--learning-rate=0.0001", "--checkpoint-interval-steps=5", "--no-tensorboard",
    "--max-boxes-per-image=10",
    "--num-input-workers=1", "--cache-bytes=0", "--max-restarts=1000", "--force", "--detector=image_size=64,64",
    "--detector=convs=[1,1,1,1,1]", "--detector=ratios=[[2.0],[2.0]]", "--detector=scales=[0.1,0.3,0.6]",
]  # fmt: skip
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "jax"}


@dataclass(frozen=True)
class Suffered:
    kind: str
    hosts: int
    worker: int
    at_step: int
    outcome: str  # survived | ended | hung
    named_s: float | None  # until a supervisor said so; None: nobody had to
    got_on_s: float | None
    named: str  # what was said first
    load: float  # of the machine that all hosts are on, when it came


class Cluster:
    """One training, over hosts of its own."""

    def __init__(self, hosts: Hosts, folder: Path) -> None:
        self.hosts, self._folder = hosts, folder
        self._tails = [FolderTail(self.run(worker).of_worker(worker).path) for worker in range(hosts.count)]
        self.journals = [Journal() for _ in range(hosts.count)]
        self.supervisors: list[subprocess.Popen[bytes]] = []

    def run(self, worker: int) -> RunFolder:
        return RunFolder(self._folder / f"host-{worker}")

    def start(self) -> None:
        self.supervisors = [self._start(worker) for worker in range(self.hosts.count)]

    def _start(self, worker: int) -> subprocess.Popen[bytes]:
        who = {
            "UNSTALL_WORKER": str(worker), "UNSTALL_WORKERS": str(self.hosts.count),
            "UNSTALL_COORDINATOR": f"{self.hosts.address(0)}:{PORT}",
        }  # fmt: skip
        env = {
            **os.environ,
            **ENVIRONMENT,
            **who,
            "JAX_COMPILATION_CACHE_DIR": str(self._folder / f"compiled-{self.hosts.count}"),
        }
        command = [sys.executable, "-m", "unstall", "train", "--out", str(self.run(worker).path), "--resume", "auto", *SETTINGS]
        with (self._folder / f"said-{worker}.txt").open("ab") as said:
            return subprocess.Popen(self.hosts.command(worker, command), env=env, stdout=said, stderr=said)

    def end(self) -> None:
        for supervisor in self.supervisors:
            supervisor.terminate()
        for supervisor in self.supervisors:
            try:
                supervisor.wait(60)
            except subprocess.TimeoutExpired:
                supervisor.kill()

    def look(self) -> None:
        for journal, tail in zip(self.journals, self._tails, strict=True):
            journal.extend(tail.read())

    @property
    def has_ended(self) -> bool:
        return all(supervisor.poll() is not None for supervisor in self.supervisors)

    def step(self) -> int:
        """That worker 0 is in, counted over all lives."""
        self.look()
        began, started = self.journals[0].last(TrainingBegan), self.journals[0].last(RunStarted)
        if began is None or started is None or began.at < started.at:
            return -1
        beat = read_pulse(self.run(0).pulse_path(started.pid))
        done = max((group.last + 1 for group in self.journals[0].since(StepsEnded, began.at)), default=0)
        return began.from_step + max(done, beat.step if beat is not None else 0)

    def is_past(self, step: int) -> bool:
        return self.step() > step

    def pid(self, worker: int) -> int:
        self.look()
        started = self.journals[worker].last(RunStarted)
        assert started is not None
        return started.pid

    def said_since(self, at: float) -> list[Event]:
        self.look()
        kinds = (PlanMade, WorkerFaltered, OthersLost)
        return sorted(
            (event for journal in self.journals for kind in kinds for event in journal.since(kind, at)), key=lambda e: e.at
        )


def wait_for(is_so: Callable[[], bool], max_s: float) -> bool:
    until = time.monotonic() + max_s
    while time.monotonic() < until:
        if is_so():
            return True
        time.sleep(0.1)
    return False


# --- a fault ---


def suffer(cluster: Cluster, kind: str, rng: random.Random, max_s: float) -> Suffered:
    started_at = cluster.step()
    first = started_at + rng.randint(*STEPS_BETWEEN)
    wait_for(lambda: cluster.step() >= first, max_s)
    time.sleep(BEFORE_S.get(kind, 0.0))
    worker = 0 if kind == "coordinator" else rng.randrange(1, cluster.hosts.count)
    step, at, load = cluster.step(), time.time(), round(os.getloadavg()[0], 1)

    before = cluster.pid(worker)

    def is_over() -> bool:
        """One that was ended, or asked to end, has another life by then."""
        is_felt = kind not in SIGNALS or cluster.pid(worker) != before
        return cluster.has_ended or (is_felt and cluster.step() >= step + PAST)

    lasts_s = LASTS_S.get(kind, 0.0)
    with befalling(cluster, kind, worker):
        is_past = wait_for(is_over, lasts_s)
        got_on = time.time() - at
        time.sleep(max(0.0, lasts_s - got_on))
    if not is_past:
        is_past = wait_for(is_over, max_s)
        got_on = time.time() - at
    said = cluster.said_since(at)
    outcome = "ended" if cluster.has_ended else "survived" if is_past else "hung"
    named = words_of(said[0]) if said else ""
    return Suffered(
        kind, cluster.hosts.count, worker, step, outcome, round(said[0].at - at, 1) if said else None,
        round(got_on, 1) if outcome == "survived" else None, named, load,
    )  # fmt: skip


@contextmanager
def befalling(cluster: Cluster, kind: str, worker: int) -> Iterator[None]:
    """What lasts ends with it."""
    pid, wire = cluster.pid(worker), cluster.hosts.wire
    if kind in SIGNALS:
        os.kill(pid, SIGNALS[kind])
    elif kind == "slow":
        with slowed(pid):
            yield
        return
    elif kind == "freeze":
        with frozen([cluster.supervisors[worker].pid, pid]):
            yield
        return
    elif kind == "delay":
        wire.delay_s = 0.15
    elif kind == "loss":
        wire.loss = 0.1
    else:
        wire.cut = {worker}
    try:
        yield
    finally:
        wire.repair_link()


@contextmanager
def frozen(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def slowed(pid: int) -> Iterator[None]:
    """A tenth of a core, by a control group."""
    group = QUOTA / f"unstall-{pid}"
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text("10000")
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        for process in (group / "cgroup.procs").read_text().split():
            (QUOTA / "cgroup.procs").write_text(process)
        group.rmdir()


def words_of(event: Event) -> str:
    if isinstance(event, PlanMade):
        return event.happened
    if isinstance(event, WorkerFaltered):
        return f"worker {event.worker} of {event.of} {event.how}"
    assert isinstance(event, OthersLost)
    who = f": worker {event.gone[0]} is gone" if event.gone else f": worker {event.silent[0]} is silent" if event.silent else ""
    return f"worker {event.worker} of {event.of} lost the others{who}"


# --- all of it ---


def measure(numbers: range, hosts: int, kinds: list[str], seed: int, max_s: float, keep: Callable[[Suffered], None]) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="unstall-workers-") as folder, Hosts(hosts).up() as network:
        cluster = Cluster(network, Path(folder))
        cluster.start()
        try:
            if not wait_for(lambda: cluster.step() > 0, BEGINS_WITHIN_S):
                said = "\n".join(path.read_text()[-1500:] for path in sorted(Path(folder).glob("said-*.txt")))
                raise SystemExit(f"The training on {hosts} hosts did not begin:\n{said}")
            for number in numbers:
                suffered = suffer(cluster, kinds[number % len(kinds)], rng, max_s)
                keep(suffered)
                if suffered.outcome != "survived":
                    cluster.end()
                    cluster.start()
                    wait_for(partial(cluster.is_past, suffered.at_step), BEGINS_WITHIN_S)
        finally:
            cluster.end()


def show(results: list[dict[str, Any]]) -> None:
    print(f"{'kind':<12} {'hosts':>5} {'faults':>6} {'survived':>8} {'ended':>5} {'hung':>4} {'named after':>14} {'got on':>14}")
    for kind, hosts in sorted({(each["kind"], each["hosts"]) for each in results}):
        these = [each for each in results if (each["kind"], each["hosts"]) == (kind, hosts)]
        survived, ended, hung = (sum(each["outcome"] == name for each in these) for name in ("survived", "ended", "hung"))
        named, got_on = (_median([each[name] for each in these if each[name] is not None]) for name in ("named_s", "got_on_s"))
        print(f"{kind:<12} {hosts:>5} {len(these):>6} {survived:>8} {ended:>5} {hung:>4} {named:>14} {got_on:>14}")


def _median(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.1f} ≤ {max(seconds):.1f} s" if seconds else "-"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="of faults, over all numbers of hosts and all calls")
    parser.add_argument("--hosts", default="2,4")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seconds-each", type=float, default=300.0, help="after which a training that does not get on is hung")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    numbers = [int(each) for each in arguments.hosts.split(",")]
    earlier = written.kept(arguments.out)
    results = earlier.get("faults", [])

    def keep(suffered: Suffered) -> None:
        results.append(asdict(suffered))
        print(f"  {json.dumps(results[-1], ensure_ascii=False)}", file=sys.stderr, flush=True)
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        written.write(arguments.out, {"faults": results}, earlier)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # hosts are taken down in any case
    try:
        for place, hosts in enumerate(numbers):
            count = arguments.count * (place + 1) // len(numbers) - arguments.count * place // len(numbers)
            done = sum(each["hosts"] == hosts for each in results)
            if done < count:
                seed = arguments.seed + 1000 * hosts + done
                measure(range(done, count), hosts, arguments.kinds.split(","), seed, arguments.seconds_each, keep)
    except AccessDeniedError as error:
        print(f"Not permitted here: {error}", file=sys.stderr)
        return 2
    show(results)
    return 1 if any(each["outcome"] == "hung" for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
