"""Shows a stuck training being explained, twice: watched from its start, and looked at after it got stuck.

Ends with 0 if the right cause was named both times, with 1 if not. Run it by `make demo`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]
TRAINING = "demo/stuck_training.py"
CAUSE = "generator_blocked"
UNSTALL = str(Path(sys.executable).with_name("unstall"))
STUCK_WITHIN_S = 120.0
STILL_FOR_S = 12.0  # so long without using the CPU, after the first epoch: stuck, and no younger wait


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="unstall-demo-") as name:
        folder = Path(name)
        os.environ["UNSTALL_HOME"] = str(folder / "runs")
        say("1. A training, watched from its start, to be stopped when it is stuck. This takes about half a minute.")
        watched = explain("run", "--on-stall", "stop", "--json", folder / "run.json", "--", "python", TRAINING)
        say("2. The same training, started as ever, is stuck. Somebody asks why.")
        with stuck_training(folder / "output.txt") as pid:
            began = time.monotonic()
            attached = explain("attach", "--json", folder / "attach.json", str(pid))
            took = time.monotonic() - began
    if (watched, attached) != (CAUSE, CAUSE):
        say(f"Not as expected: run named {watched}, attach named {attached}. Expected {CAUSE} from both.")
        return 1
    say(f"Shown: why a training is stuck, and at which line, by `unstall run` and, in {took:.1f} s, by `unstall attach`.")
    return 0


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m\n" if sys.stdout.isatty() else f"\n{text}\n", flush=True)


def explain(*arguments: str | Path) -> str | None:
    """Runs unstall before the user's eyes. The cause that its JSON names first."""
    words = [str(argument) for argument in arguments]
    at = words.index("--json")
    print("$ unstall", *words[:at], *words[at + 2 :], flush=True)
    command = [sys.executable if word == "python" else word for word in words]
    subprocess.run([UNSTALL, *command], cwd=ROOT, check=False)
    try:
        verdicts = json.loads(Path(words[at + 1]).read_text())["verdicts"]
    except (OSError, ValueError):
        return None
    return str(verdicts[0]["cause"]) if verdicts else None


@contextmanager
def stuck_training(output: Path) -> Iterator[int]:
    """The training as a process of its own, from the moment it stands still; ended with the block."""
    with output.open("w") as file:
        training = subprocess.Popen([sys.executable, TRAINING], cwd=ROOT, stdout=file, stderr=subprocess.STDOUT)
    try:
        wait_until_still(training, output)
        print("".join(f"  {line}\n" for line in output.read_text().splitlines() if "poch" in line or "loss" in line))
        yield training.pid
    finally:
        training.kill()
        training.wait()


def wait_until_still(training: subprocess.Popen[bytes], output: Path) -> None:
    process = psutil.Process(training.pid)
    deadline = time.monotonic() + STUCK_WITHIN_S
    used, since = -1.0, time.monotonic()
    while time.monotonic() - since < STILL_FOR_S:
        if training.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"The training did not get stuck as it should. Its output:\n{output.read_text()}")
        times = process.cpu_times()
        if times.user + times.system > used + 0.1 or "Epoch 2" not in output.read_text():
            used, since = times.user + times.system, time.monotonic()
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
