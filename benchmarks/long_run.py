"""A long run in short: whether memory stays flat, and what the journal takes for each second, step and epoch.

    python -m benchmarks.long_run [--minutes 15] [--backend jax] [--out FILE]

A tiny detector is trained under supervision, at many steps a second, for as long as one likes: first a short leg with slow steps
(a fifth of the time), then a long one with quick steps. Every few seconds the memory of worker and supervisor is read.

What is measured: resident memory over steps and over time, by the median of all slopes between two readings (Theil and Sen) in
the second half of the long leg; the bytes of the journal by kind of event, in the first five minutes (when a run is looked at
often) and after them.

What is extrapolated, and how: a training of 12 hours has 86,400 steps of half a second, 24 epochs, and as many scores.

* Memory: the slope for each step times 86,400 (what grows with steps), and the slope for each hour times 12 (what grows with
  time), each as if the whole slope were of that one kind. The run has as many "hours' worth of steps" as it made steps.
* Journal: the bytes of the first five minutes, then the bytes for each second after them, which a run of five minutes or less
  has not; the bytes for each epoch; and the bytes for each step, from the difference of the two legs at the same age: more
  steps in the same time, and no more bytes, is none.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks import written
from benchmarks.recovery import ENVIRONMENT
from benchmarks.recovery_runs import Supervised
from benchmarks.resume import new_run
from unstall.config.settings import Settings, apply_changes
from unstall.journal.reader import JOURNAL_FILES
from unstall.supervisor.timeouts import STEADY_AFTER_S

MIB = 2**20
READ_EVERY_S = 3.0
REAL_STEP_S, REAL_HOURS, REAL_EPOCHS = 0.5, 12, 24  # of the run that this one stands for
REAL_STEPS = int(REAL_HOURS * 3600 / REAL_STEP_S)
SHORT_SHARE = 0.2  # of the time, for the leg with slow steps
SLOW, QUICK = 32, 2  # images in a step
OF_EPOCHS = frozenset({"EpochEnded", "EpochScored", "PhaseBegan", "PhaseEnded", "CheckpointCompleted", "CheckpointSaved"})
SETTLED_AFTER_S = 60.0  # of a leg: what is told once has been told
OUT = Path("benchmarks/results/long_run.json")


def settings(backend: str, batch_size: int) -> Settings:
    tiny = Settings(
        synthetic_images=1000, val_split=0.05, model="ssd_tiny", detector={"image_size": [64, 64]}, epochs=100_000,
        learning_rate=1e-4,
        warmup_steps=10, checkpoint_interval_s=30.0, eval_interval=5, max_boxes_per_image=10,
    )  # fmt: skip
    return apply_changes(tiny, {"backend": backend, "batch_size": batch_size})


@dataclass(frozen=True)
class Reading:
    second: float
    steps: int
    worker: int  # resident bytes
    supervisor: int


@dataclass(frozen=True)
class Leg:
    batch_size: int
    readings: list[Reading]
    written: list[tuple[float, str, int]]  # of each event: age of the run, kind, bytes
    epochs: int

    @property
    def steps(self) -> int:
        return self.readings[-1].steps

    @property
    def seconds(self) -> float:
        return self.readings[-1].second


def run(backend: str, batch_size: int, seconds: float, folder: Path) -> Leg:
    supervised = Supervised(new_run(folder / f"batch-{batch_size}", settings(backend, batch_size)))
    readings = list[Reading]()
    try:
        while supervised.step() < 1 and supervised.process.poll() is None:  # the data is drawn, the step compiled
            time.sleep(READ_EVERY_S)
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds and supervised.process.poll() is None:
            with contextlib.suppress(psutil.Error):
                sizes = [psutil.Process(pid).memory_info().rss for pid in (supervised.worker_pid(), supervised.process.pid)]
                readings.append(Reading(now, max(0, supervised.step()), *sizes))
            time.sleep(READ_EVERY_S)
    finally:
        supervised.process.send_signal(signal.SIGTERM)
        supervised.process.wait(120)
    if supervised.process.returncode == 0 or not readings or not readings[-1].steps:
        raise SystemExit(f"The run ended by itself:\n{(supervised.run.path / 'output.txt').read_text()[-2000:]}")
    result = journal(supervised.run.path)
    return Leg(batch_size, readings, result, sum(kind == "EpochEnded" for _, kind, _ in result))


def journal(folder: Path) -> list[tuple[float, str, int]]:
    found = []
    for path in folder.glob(JOURNAL_FILES):
        for line in path.read_bytes().splitlines():
            plain = json.loads(line)
            found.append((float(plain["at"]), str(plain["event"]), len(line) + 1))
    first = min(at for at, kind, _ in found if kind == "StepsEnded")
    return sorted((at - first, kind, size) for at, kind, size in found)


# --- what it comes to ---


def slope(pairs: Sequence[tuple[float, float]]) -> float:
    """The median of the slopes between any two."""
    slopes = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in itertools.combinations(pairs, 2) if x2 > x1]
    return statistics.median(slopes) if slopes else 0.0


def memory(leg: Leg) -> dict[str, Any]:
    late = [each for each in leg.readings if each.second >= leg.seconds / 2]
    plain: dict[str, Any] = {"readings": len(late), "over_steps": late[-1].steps - late[0].steps}
    for who in ("worker", "supervisor"):
        sizes = [getattr(each, who) / MIB for each in late]
        by_step = slope([(each.steps, size) for each, size in zip(late, sizes, strict=True)])
        by_hour = slope([(each.second / 3600, size) for each, size in zip(late, sizes, strict=True)])
        plain[who] = {
            "MiB": round(statistics.median(sizes), 1),
            "MiB_least": round(min(sizes), 1),
            "MiB_most": round(max(sizes), 1),
            "grown_MiB_by_steps_of_12_h": round(by_step * REAL_STEPS, 2),
            "grown_MiB_by_time_of_12_h": round(by_hour * REAL_HOURS, 2),
        }
    return plain


def volume(slow: Leg, quick: Leg) -> dict[str, Any]:
    """Of the journal, in bytes."""
    first = sum(size for age, kind, size in quick.written if age < STEADY_AFTER_S and kind not in OF_EPOCHS)
    late_s = quick.written[-1][0] - STEADY_AFTER_S
    late = Counter[str]()
    for age, kind, size in quick.written:
        if age >= STEADY_AFTER_S and kind not in OF_EPOCHS:
            late[kind] += size
    each_s = late.total() / late_s if late_s > 0 else None
    of_epochs = sum(size for _, kind, size in quick.written if kind in OF_EPOCHS) / max(1, quick.epochs)
    each_step = max(0.0, by_steps(slow, quick))
    whole = None if each_s is None else first + each_s * (REAL_HOURS * 3600 - STEADY_AFTER_S) + of_epochs * REAL_EPOCHS
    return {
        "first_5_min": first,
        "each_s_after_them": each_s,
        "measured_after_them_s": max(0.0, round(late_s, 1)),
        "each_epoch": round(of_epochs),
        "each_step": round(each_step, 3),
        "by_kind_after_them": dict(late.most_common()),
        "MiB_an_hour_of_12": None if whole is None else round((whole + each_step * REAL_STEPS) / MIB / REAL_HOURS, 3),
    }


def by_steps(slow: Leg, quick: Leg) -> float:
    """Bytes that each further step brings: both legs between the same ages."""
    until = min(slow.written[-1][0], quick.written[-1][0])
    sizes, steps = [], []
    for leg in (slow, quick):
        sizes.append(sum(size for age, kind, size in leg.written if SETTLED_AFTER_S <= age < until and kind not in OF_EPOCHS))
        within = [each.steps for each in leg.readings if SETTLED_AFTER_S <= each.second < until]
        steps.append(within[-1] - within[0] if within else 0)
    return (sizes[1] - sizes[0]) / (steps[1] - steps[0]) if steps[1] > steps[0] else 0.0


def show(plain: dict[str, Any]) -> None:
    memory_, volume_ = plain["memory"], plain["journal"]
    worth = f"{plain['hours_worth_of_steps']} hours' worth of half a second each"
    print(f"{plain['steps']:,} steps in {plain['seconds'] / 60:.1f} min: {worth}")
    print("| process | MiB (least, most) | grown in 12 h by its steps | by its time |")
    print("| --- | --- | --- | --- |")
    for who in ("worker", "supervisor"):
        row = memory_[who]
        grown = f"{row['grown_MiB_by_steps_of_12_h']:+} MiB | {row['grown_MiB_by_time_of_12_h']:+} MiB"
        print(f"| {who} | {row['MiB']} ({row['MiB_least']}, {row['MiB_most']}) | {grown} |")
    print({name: value for name, value in volume_.items() if name != "by_kind_after_them"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--minutes", type=float, default=15.0, help="of both legs together; above 8, so that the late rhythm is seen"
    )
    parser.add_argument("--backend", default="jax", choices=("tensorflow", "jax", "torch"))
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    os.environ.update({name: value for name, value in ENVIRONMENT.items() if name not in os.environ})
    with tempfile.TemporaryDirectory(prefix="unstall-long-run-") as folder:
        os.environ["UNSTALL_HOME"] = folder
        seconds = arguments.minutes * 60
        slow = run(arguments.backend, SLOW, seconds * SHORT_SHARE, Path(folder))
        quick = run(arguments.backend, QUICK, seconds * (1 - SHORT_SHARE), Path(folder))
    plain: dict[str, Any] = {
        "load_average": os.getloadavg(),
        "steps": quick.steps,
        "seconds": round(quick.seconds, 1),
        "hours_worth_of_steps": round(quick.steps * REAL_STEP_S / 3600, 1),
        "epochs": quick.epochs,
        "steps_of_the_slow_leg": slow.steps,
        "memory": memory(quick),
        "journal": volume(slow, quick),
        "readings": [asdict(each) for each in quick.readings[:: max(1, len(quick.readings) // 100)]],
    }
    show(plain)
    written.write(arguments.out, plain)
    if plain["journal"]["MiB_an_hour_of_12"] is not None and plain["journal"]["MiB_an_hour_of_12"] > 1:
        sys.exit("The journal takes more than 1 MiB an hour.")


if __name__ == "__main__":
    main()
