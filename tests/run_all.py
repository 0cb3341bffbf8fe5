"""Run every check, several beside each other, and list what failed at the end: `make test`.

Runs that compute are in one queue, and two places take from it, a core for each. Runs that mostly wait (for a watcher's timeouts, a
server, a browser) are in another, with two places of its own: they use a quarter of a core. The longest runs come first.
A run that fails ends none of the others. Exit code 1 if anything failed, 130 after Ctrl-C.

`make test-quick` runs the group "quick": the checks, the laws, and of every room the tests that neither start a process nor wait.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
TREES = ("src", "tests", "benchmarks", "docs", "demo", "fuzz")
BACKENDS = ("tensorflow", "jax", "torch")
NO_BACKEND = " and ".join(f"not {name}" for name in BACKENDS)
COMPUTING_PLACES, WAITING_PLACES = 2, 2

LEARNING = ("tests/detectors", "tests/training")
SUPERVISING = ("tests/supervisor",)
SERVING = tuple(f"tests/{name}" for name in ("board", "cloud", "diagnosis/workers", "training/distributed", "sensors", "storage"))
LAWS = tuple(f"tests/test_{name}.py" for name in ("laws", "layers", "vocabulary", "completeness", "docs", "run_all"))
SLOW = re.compile(r"\b(subprocess|multiprocessing|threading|sleep|UNSTALL|Place|browser)\b")
READING = ("tests/data", "tests/tfod")
HALVES = ("one half", "other half")
# Python keeps the code of a module compiled, whatever the machine prefers: each of a thousand processes would compile it again.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
SLOWEST_SHOWN = 12  # tests of a run, those of 8 s and more: what is to be made cheaper


@dataclass(frozen=True)
class Run:
    name: str
    command: tuple[str, ...]
    waits: bool = False  # most of the time, or is short
    takes_s: int = 0  # about, where two cores have the whole to do: the longest are started first


def pytest(name: str, marks: str, *paths: str, ignore: Sequence[str] = ()) -> Run:
    """One pytest process. A process has one backend, so there is a run for each."""
    options = ("-rfE", f"--durations={SLOWEST_SHOWN}", "--durations-min=8", "-m", marks)
    return Run(name, (str(BIN / "pytest"), *options, *paths, *(f"--ignore={path}" for path in ignore)))


def on_backend(name: str, backend: str, *folders: str, ignore: Sequence[str] = ()) -> Run:
    """The tests that need this backend. Files that do not mention it are not even collected."""
    paths = sorted(path for folder in folders or ("tests",) for path in (ROOT / folder).rglob("test_*.py"))
    left_out = [ROOT / folder for folder in ignore]
    chosen = [path for path in paths if mentions(path, backend) and not any(path.is_relative_to(folder) for folder in left_out)]
    return pytest(name, backend, *(path.relative_to(ROOT).as_posix() for path in chosen))


def mentions(path: Path, backend: str) -> bool:
    """Whether a test of this file may be marked with the backend. `tests/conftest.py` refuses a mark that is not seen here."""
    text = path.read_text(encoding="utf-8")
    return backend in text or "tests.detectors.conformance" in text


def quick_files() -> list[str]:
    """The laws, and the files of tests that neither start a process, nor wait, nor need a server: two minutes of a core, all together."""
    folders = sorted(path for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "specimens")
    found = [path for folder in folders for path in sorted(folder.rglob("test_*.py")) if not SLOW.search(path.read_text("utf-8"))]
    return [*LAWS, *(path.relative_to(ROOT).as_posix() for path in found)]


def tool(name: str, *words: str) -> Run:
    return Run(name, (str(BIN / words[0]), *words[1:]), waits=True)


def waiting(run: Run) -> Run:
    return replace(run, waits=True)


def taking(seconds: int, run: Run) -> Run:
    return replace(run, takes_s=seconds)


def halves(run: Run, seconds: int) -> tuple[Run, ...]:
    """Two runs of about half its files each: one alone would be at work when all others are done."""
    files = [word for word in run.command if word.startswith("tests/")]
    return tuple(
        replace(
            run,
            name=f"{run.name}, {half}",
            command=tuple(word for word in run.command if word not in set(files) - set(files[start::2])),
            takes_s=seconds // 2,
        )
        for start, half in enumerate(HALVES)
    )


CHECKS = (
    tool("lint", "ruff", "check", *TREES),
    tool("format", "ruff", "format", "--check", *TREES),
    taking(65, tool("types", "mypy")),
    tool("docs", "python", "docs/generate.py", "--check"),
)
GROUPS: dict[str, tuple[Run, ...]] = {
    "torch": (
        taking(680, on_backend("PyTorch, learning", "torch", *LEARNING)),
        *halves(on_backend("PyTorch, watching", "torch", ignore=LEARNING), 500),
    ),
    "jax": (
        taking(540, on_backend("JAX, learning", "jax", *LEARNING)),
        taking(220, on_backend("JAX, watching", "jax", ignore=LEARNING)),
    ),
    "tensorflow": (
        *map(waiting, halves(on_backend("TensorFlow, watching", "tensorflow", ignore=LEARNING), 900)),
        taking(500, on_backend("TensorFlow, learning", "tensorflow", *LEARNING)),
    ),
    "no-backend": (
        taking(570, waiting(pytest("no backend, supervising", NO_BACKEND, *SUPERVISING))),
        taking(310, pytest("no backend", NO_BACKEND, ignore=(*SUPERVISING, *SERVING, *READING))),
        taking(220, waiting(pytest("no backend, serving", NO_BACKEND, *SERVING))),
        taking(120, pytest("no backend, reading data", NO_BACKEND, *READING)),
    ),
    "check": CHECKS,
    "quick": (
        *(pytest(f"quick, {half}", NO_BACKEND, *quick_files()[start::2]) for start, half in enumerate(HALVES)),
        *CHECKS,
    ),
}
LONGER = tuple(run for name, runs in GROUPS.items() if name != "quick" for run in runs if run not in CHECKS[:2])
ALL = (*CHECKS[:2], *sorted(LONGER, key=lambda run: -run.takes_s))


@dataclass
class Outcome:
    """What failed so far, of all runs; each is printed as it happens and again at the end."""

    failures: list[str] = field(default_factory=list)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_stopped: bool = False

    def take(self, *queues: deque[Run]) -> None:
        """Run what is in the queues, one after the other; from the second only when the first is empty."""
        while not self.is_stopped:
            with self.lock:
                run = next((queue.popleft() for queue in queues if queue), None)
            if run is None:
                return
            self.run(run)

    def run(self, run: Run) -> None:
        began = time.monotonic()
        self.say(f"{run.name}: started")
        with tempfile.TemporaryFile() as file:  # no pipe: a process that a test leaves behind would keep it open
            process = subprocess.Popen(
                run.command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
            )
            self.processes.append(process)
            process.wait()
            file.seek(0)
            output = file.read().decode("utf-8", "replace")
        took = f"{time.monotonic() - began:.0f} s"
        if process.returncode == 0:
            self.say(f"{run.name}: passed in {took}\n{_indented(_slowest_and_last_line(output))}")
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


def _slowest_and_last_line(output: str) -> str:
    lines = output.strip().splitlines()
    slowest = [line.strip() for line in lines if re.match(r"\s*\d+\.\d+s (call|setup|teardown) ", line)]
    return "\n".join([*slowest, *lines[-1:]])


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"Groups to run: {', '.join(GROUPS)}. Default: all but quick.")
    asked = parser.parse_args(arguments).groups
    if unknown := [name for name in asked if name not in GROUPS]:
        parser.error(f"Expected groups of {', '.join(GROUPS)}. Received: {', '.join(unknown)}")
    return run_beside([run for name in asked for run in GROUPS[name]] or ALL)


def run_beside(runs: Sequence[Run]) -> int:
    outcome = Outcome()
    computing = deque(run for run in runs if not run.waits)
    waits = deque(run for run in runs if run.waits)
    places = [(computing, waits)] * COMPUTING_PLACES + [(waits,)] * WAITING_PLACES
    threads = [threading.Thread(target=outcome.take, args=queues, daemon=True) for queues in places]
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
