"""Run every check, three lanes beside each other, and list what failed at the end: `make test`.

Two lanes compute, on a core each; the third waits (for a watcher's timeouts, a server, a browser) and hardly holds up the others.
A run that fails ends neither its lane nor the others. Exit code 1 if anything failed, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
TREES = ("src", "tests", "benchmarks", "docs", "demo", "fuzz")

LEARNING = ("tests/detectors", "tests/training")
WAITING = tuple(
    f"tests/{name}"
    for name in ("board", "cloud", "diagnosis/workers", "training/distributed", "sensors", "storage", "supervisor")
)
READING = ("tests/data", "tests/tfod")
NO_BACKEND = "not tensorflow and not jax and not torch"


@dataclass(frozen=True)
class Run:
    name: str
    command: tuple[str, ...]


def pytest(name: str, marks: str, *paths: str, ignore: Sequence[str] = ()) -> Run:
    """One pytest process. A process has one backend, so there is a run for each."""
    return Run(name, (str(BIN / "pytest"), "-rfE", "-m", marks, *paths, *(f"--ignore={path}" for path in ignore)))


def tool(name: str, *words: str) -> Run:
    return Run(name, (str(BIN / words[0]), *words[1:]))


CHECKS = (
    tool("lint", "ruff", "check", *TREES),
    tool("format", "ruff", "format", "--check", *TREES),
    tool("types", "mypy"),
    tool("docs", "python", "docs/generate.py", "--check"),
)
LANES: dict[str, tuple[Run, ...]] = {
    "check": CHECKS,
    "torch": (
        pytest("PyTorch", "torch"),
        pytest("no backend", NO_BACKEND, ignore=(*WAITING, *READING)),
    ),
    "compiled": (
        pytest("JAX", "jax"),
        pytest("TensorFlow, learning", "tensorflow", *LEARNING),
        pytest("no backend, reading data", NO_BACKEND, *READING),
    ),
    "watching": (
        pytest("no backend, waiting", NO_BACKEND, *WAITING),
        pytest("TensorFlow, watching", "tensorflow", ignore=LEARNING),
    ),
}
ALL = (LANES["torch"], LANES["compiled"], (*LANES["check"], *LANES["watching"]))  # three places


@dataclass
class Outcome:
    """What failed so far, of all lanes; each is printed as it happens and again at the end."""

    failures: list[str] = field(default_factory=list)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_stopped: bool = False

    def run_lane(self, lane: Sequence[Run]) -> None:
        for run in lane:
            if not self.is_stopped:
                self.run(run)

    def run(self, run: Run) -> None:
        began = time.monotonic()
        self.say(f"{run.name}: started")
        with tempfile.TemporaryFile() as file:  # no pipe: a process that a test leaves behind would keep it open
            process = subprocess.Popen(run.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
            self.processes.append(process)
            process.wait()
            file.seek(0)
            output = file.read().decode("utf-8", "replace")
        took = f"{time.monotonic() - began:.0f} s"
        if process.returncode == 0:
            self.say(f"{run.name}: passed in {took}\n{_indented(_last_line(output))}")
            return
        self.failures += [f"{run.name}: {line}" for line in _failed_tests(output)] or [
            f"{run.name}: exit code {process.returncode} of {Path(run.command[0]).name} {' '.join(run.command[1:])}"
        ]
        self.say(f"{run.name}: FAILED after {took}\n{_indented(output)}")

    def say(self, text: str) -> None:
        with self.lock:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()

    def stop(self) -> None:
        self.is_stopped = True
        for process in self.processes:
            if process.poll() is None:
                process.terminate()


def _failed_tests(output: str) -> list[str]:
    """The lines of pytest's short summary."""
    return [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]


def _last_line(output: str) -> str:
    lines = output.strip().splitlines()
    return lines[-1] if lines else ""


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lanes", nargs="*", metavar="LANE", help=f"Lanes to run: {', '.join(LANES)}. Default: all of them.")
    asked = parser.parse_args(arguments).lanes
    if unknown := [name for name in asked if name not in LANES]:
        parser.error(f"Expected lanes of {', '.join(LANES)}. Received: {', '.join(unknown)}")
    return run_lanes([LANES[name] for name in asked] or ALL)


def run_lanes(lanes: Sequence[Sequence[Run]]) -> int:
    outcome = Outcome()
    threads = [threading.Thread(target=outcome.run_lane, args=(lane,), daemon=True) for lane in lanes]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        outcome.stop()
        return 130
    if not outcome.failures:
        outcome.say("Everything passed.")
        return 0
    outcome.say(f"\n{len(outcome.failures)} failed:\n" + "\n".join(f"  {failure}" for failure in outcome.failures))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
