"""That a run which is killed again and again ends with the very bits of one that never was.

    python -m benchmarks.resume [--backend jax] [--kills 20] [--on processor] [--out benchmarks/results/resume.json]

For each backend the smallest detector is trained on embedded shapes twice: once undisturbed, and once killed by SIGKILL at random
steps, each time started again as the supervisor does. Compared are every number that the next step would hang on (weights, what
the optimizer remembers, averages, seeds, counters), the weights files, and the history but for its times.

--on card: where there is one, with kernels that give the same bits each time (the setting `deterministic`), which is promised to
end the same; --on card-as-it-comes: without them, which is not: how far apart the weights end is told.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import written
from unstall.config.settings import Settings, apply_changes, as_plain
from unstall.journal.events import TrainingBegan
from unstall.journal.pulse import read_pulse
from unstall.journal.reader import Tail
from unstall.journal.run_folder import RunFolder

BACKENDS = ("tensorflow", "jax", "torch")
PLACES = ("processor", "card", "card-as-it-comes")
TIMES = ("train_s", "input_wait_s", "eval_s")  # columns of the history that no two runs have in common
MAX_LIFE_S = 600.0
TINY = Settings(
    synthetic_images=48, val_split=0.25, detector={"image_size": [64, 64]}, epochs=12, batch_size=4, warmup_steps=20,
    optimizer="adamw", learning_rate=2e-3, ema_decay=0.9, augmentations=("horizontal_flip", "photometric_distort"),
    eval_interval=5, num_input_workers=1,
    max_boxes_per_image=10, checkpoint_interval_steps=7, tensorboard=False,
)  # fmt: skip


@dataclass(frozen=True)
class Life:
    """Of one process."""

    from_step: int
    exit_code: int  # below 0: ended by that signal
    seconds: float


def new_run(folder: Path, settings: Settings) -> RunFolder:
    folder.mkdir(parents=True)
    run = RunFolder(folder)
    run.write_settings(as_plain(settings), are_given=True)
    run.write_settings(as_plain(settings))
    return run


def live(
    run: RunFolder, at_step: int | None = None, by: signal.Signals = signal.SIGKILL, place: str = "processor"
) -> Life:  # fmt: skip
    """A worker from its start to its end, or until it has done that step of the whole run and gets the signal."""
    # PASSIVE: on a machine that others use too, threads that wait for each other must not take its time.
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_WAIT_POLICY": "PASSIVE"}
    quiet |= {"CUDA_VISIBLE_DEVICES": ""} if place == "processor" else {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    began, from_step = time.monotonic(), None
    command = [sys.executable, "-m", "unstall.training", str(run.path), "--quiet"]
    with (run.path / "output.txt").open("ab") as output:
        worker = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, **quiet})
    journal = Tail(run.journal_path("probe", worker.pid))
    while worker.poll() is None and time.monotonic() - began < MAX_LIFE_S:
        if from_step is None:
            from_step = next((event.from_step for event in journal.read() if isinstance(event, TrainingBegan)), None)
        elif at_step is not None and from_step + steps_done(run, worker.pid) >= at_step:
            worker.send_signal(by)
            break
        time.sleep(0.002)
    code = worker.wait(timeout=MAX_LIFE_S)
    return Life(from_step or 0, code, time.monotonic() - began)


def steps_done(run: RunFolder, pid: int) -> int:
    """By this process, as far as it has told."""
    beat = read_pulse(run.pulse_path(pid))
    return 0 if beat is None else beat.step


def differences(one: RunFolder, other: RunFolder) -> list[str]:
    """Names of what is not the same to the bit."""
    from unstall.training.checkpoint.store import Checkpoints

    first, second = (Checkpoints(run.checkpoints_path, 1).newest() for run in (one, other))
    assert first is not None and second is not None, "both runs have ended, and have their checkpoints"
    found = [name for name in (*first.arrays, *second.arrays) if not _same(first.arrays.get(name), second.arrays.get(name))]
    for name in ("best.safetensors", "last.safetensors"):
        files = [(run.path / name).read_bytes() if (run.path / name).exists() else b"" for run in (one, other)]
        # A weights file names its run; the numbers come after that.
        if _numbers(files[0]) != _numbers(files[1]):
            found.append(name)
    return [*found, *([] if history(one) == history(other) else ["history.csv"])]


def weight_difference(one: RunFolder, other: RunFolder) -> float:
    """The distance between the weights of two runs, as a share of their size."""
    import numpy as np

    from unstall.training.checkpoint.store import Checkpoints

    first, second = (Checkpoints(run.checkpoints_path, 1).newest() for run in (one, other))
    assert first is not None and second is not None, "both runs have ended, and have their checkpoints"
    names = [name for name in first.arrays if name.startswith("weights/")]
    rows = [np.concatenate([each.arrays[name].ravel().astype(np.float64) for name in names]) for each in (first, second)]
    return float(np.linalg.norm(rows[0] - rows[1]) / np.linalg.norm(rows[0]))


def _same(one: Any, other: Any) -> bool:
    is_there = one is not None and other is not None
    return is_there and one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def _numbers(raw: bytes) -> bytes:
    return raw[8 + int.from_bytes(raw[:8], "little") :]


def history(run: RunFolder) -> list[dict[str, str]]:
    with run.history_path.open() as file:
        return [{name: value for name, value in row.items() if name not in TIMES} for row in csv.DictReader(file)]


# --- all of it ---


def measure(backend: str, place: str, kills: int, seed: int, folder: Path) -> dict[str, Any]:
    settings = apply_changes(TINY, {"backend": backend, "deterministic": place == "card"})
    steps = settings.epochs * int(settings.synthetic_images * (1 - settings.val_split)) // settings.batch_size
    undisturbed, disturbed = (new_run(folder / f"{backend}-{kind}", settings) for kind in ("undisturbed", "disturbed"))
    whole = live(undisturbed, place=place)
    assert whole.exit_code == 0, (undisturbed.path / "output.txt").read_text()[-2000:]
    lives: list[Life] = []
    for at_step in sorted(random.Random(seed).sample(range(1, steps), kills)):
        lives.append(live(disturbed, at_step, place=place))
        print(f"  {backend}: life {len(lives)} from step {lives[-1].from_step}, killed at {at_step}", file=sys.stderr, flush=True)
    last = live(disturbed, place=place)
    assert last.exit_code == 0, (disturbed.path / "output.txt").read_text()[-2000:]
    return {
        "backend": backend,
        "on": place,
        "steps": steps,
        "kills": sum(life.exit_code == -signal.SIGKILL for life in lives),
        "resumed_from": [life.from_step for life in (*lives, last)],
        "undisturbed_s": round(whole.seconds, 1),
        "disturbed_s": round(sum(life.seconds for life in (*lives, last)), 1),
        "differences": differences(undisturbed, disturbed),
        "weights_apart": weight_difference(undisturbed, disturbed),
    }


def show(rows: Sequence[dict[str, Any]]) -> None:
    print("| backend | on | steps | killed | time undisturbed | with kills | what differs | weights apart |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        differs = ", ".join(row["differences"][:3]) or "nothing"
        times = f"{row['undisturbed_s']:.0f} s | {row['disturbed_s']:.0f} s"
        where, difference = row.get("on", "processor"), f"{row.get('weights_apart', 0.0):.2g}"
        print(f"| {row['backend']} | {where} | {row['steps']} | {row['kills']} times | {times} | {differs} | {difference} |")


def _case(row: dict[str, Any]) -> tuple[str, str]:
    return row["backend"], row.get("on", "processor")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="may be given several times; all if it is not given")
    parser.add_argument("--on", choices=PLACES, default="processor")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the steps at which it is killed")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/resume.json"))
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for backend in arguments.backend or BACKENDS:
            rows.append(measure(backend, arguments.on, arguments.kills, arguments.seed, Path(folder)))
    show(rows)
    earlier = written.kept(arguments.out)
    measured = {_case(row) for row in rows}
    rows = [row for row in earlier.get("rows", []) if _case(row) not in measured] + rows
    written.write(arguments.out, {"rows": rows}, earlier)
    if any(row["differences"] for row in rows if row.get("on") != "card-as-it-comes"):
        sys.exit(1)


if __name__ == "__main__":
    main()
