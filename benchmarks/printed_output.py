"""What reading the output of a program costs it: the rate at which bytes pass, the delay of a line, and the CPU of the reader.

    python -m benchmarks.printed_output [--rounds 7] [--mib 192] [--out benchmarks/results/printed_output.json]

A program prints as fast as it can on a terminal, into a pipe and into a file: alone, below `script` of util-linux (which copies
the output of a program, too), and below `unstall run`, by turns. The rate is that between the first byte and the last; the table
shows medians, and the median of the ratios of neighbours. A line's delay is measured on a quiet stream, from before the program
writes it until it is read at the other end. The CPU is that of the watcher while a program floods it with lines of progress for
many seconds, against the same watcher while the program prints nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import written

FLOOD = """
import os, sys, time
began = time.perf_counter()
line = b"\\r%d/1000000 [===>......] - ETA: 1s - loss: 0.5123 - accuracy: 0.1"
block = b"".join(line % n for n in range(1000))
for _ in range(int(sys.argv[1]) * 2**20 // len(block)):
    left = block
    while left: left = left[os.write(1, left):]
if len(sys.argv) > 2: open(sys.argv[2], "w").write(str(time.perf_counter() - began))
"""
LINES = """
import os, sys, time
for _ in range(int(sys.argv[1])):
    time.sleep(0.005)
    os.write(1, b"%020d\\n" % time.monotonic_ns())
"""
SLOW = "import time\ntime.sleep(float(__import__('sys').argv[1]))"
READ_BYTES = 2**20
FLOOD_S = 12.0


def commands(code: str, *args: str) -> dict[str, list[str]]:
    bare = [sys.executable, "-S", "-c", code, *args]
    watched = [sys.executable, "-m", "unstall", "run", "--quiet", "--", *bare]
    result = {"alone": bare, "unstall": watched, "unstall --no-read-output": [*watched[:5], "--no-read-output", *watched[5:]]}
    if shutil.which("script"):
        result["script"] = ["script", "-qec", shlex.join(bare), "/dev/null"]
    return result


@contextmanager
def started(command: list[str], kind: str) -> Iterator[tuple[int, int]]:
    """(pid, descriptor) with what the command prints at the other end of a terminal or a pipe."""
    if kind == "terminal":
        read_end, write_end = pty.openpty()
        tty.setraw(write_end, termios.TCSANOW)
    else:
        read_end, write_end = os.pipe()
    environment = {**os.environ, "UNSTALL_HOME": tempfile.mkdtemp(prefix="unstall-printed-")}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=write_end, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    os.close(write_end)
    try:
        yield process.pid, read_end
    finally:
        os.close(read_end)
        process.kill()
        process.wait()
        shutil.rmtree(environment["UNSTALL_HOME"], ignore_errors=True)


def pass_rate(command: list[str], kind: str) -> float:
    """MiB in a second."""
    if kind == "file":
        return _file_rate(command)
    with started(command, kind) as (_, descriptor):
        first, total = 0.0, 0
        while True:
            try:
                data = os.read(descriptor, READ_BYTES)
            except OSError:
                break
            if not data:
                break
            total += len(data)
            first = first or time.perf_counter()
            last = time.perf_counter()
    return total / 2**20 / (last - first)


def _file_rate(command: list[str]) -> float:
    """As the program itself measures it."""
    with tempfile.TemporaryDirectory(prefix="unstall-printed-") as folder, Path(folder, "output").open("wb") as file:
        took = Path(folder, "seconds")
        environment = {**os.environ, "UNSTALL_HOME": folder}
        subprocess.run([*command, str(took)], stdout=file, stderr=subprocess.DEVNULL, env=environment, check=True)
        return float(command[-1]) / float(took.read_text())


def line_delays(command: list[str], kind: str) -> list[float]:
    """Microseconds."""
    delays, rest = [], b""
    with started(command, kind) as (_, descriptor):
        while True:
            try:
                data = os.read(descriptor, READ_BYTES)
            except OSError:
                break
            if not data:
                break
            now = time.monotonic_ns()
            *lines, rest = (rest + data).split(b"\n")
            delays += [(now - int(line)) / 1000 for line in lines if line.strip().isdigit()]
    return delays


def watcher_cores(command: list[str], kind: str) -> float:
    """Cores that the watcher itself uses, its relay and the program left out, after its start."""
    with started(command, kind) as (pid, descriptor):
        os.set_blocking(descriptor, False)
        began, used = 0.0, 0.0
        until = time.monotonic() + FLOOD_S
        while time.monotonic() < until:
            try:
                if not os.read(descriptor, READ_BYTES):
                    break
            except BlockingIOError:
                time.sleep(0.001)
            if not began and time.monotonic() > until - FLOOD_S + 4.0:
                began, used = time.monotonic(), _cpu_s(pid)
        return (_cpu_s(pid) - used) / (time.monotonic() - began)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(rounds: int, mib: int) -> dict[str, Any]:
    rates: dict[str, dict[str, list[float]]] = {}
    for kind in ("terminal", "pipe", "file"):
        names = {name: each for name, each in commands(FLOOD, str(mib)).items() if name != "script" or kind == "terminal"}
        rates[kind] = {name: [] for name in names}
        for number in range(rounds):
            for name, command in list(names.items())[:: -1 if number % 2 else 1]:
                rates[kind][name].append(pass_rate(command, kind))
            print(kind, {name: round(each[-1]) for name, each in rates[kind].items()}, flush=True)
    delays = {
        kind: {
            name: line_delays(command, kind)
            for name, command in commands(LINES, "400").items()
            if name != "script" or kind == "terminal"
        }
        for kind in ("terminal", "pipe")
    }
    quiet = watcher_cores(commands(SLOW, str(FLOOD_S + 5))["unstall"], "pipe")
    flooded = watcher_cores(commands(FLOOD, "1000000000")["unstall"], "pipe")
    return {
        "rates_mib_s": {kind: {name: _median(each) for name, each in by_name.items()} for kind, by_name in rates.items()},
        "unstall_to_script": _ratio(rates["terminal"], "unstall", "script"),
        "unstall_to_alone": {kind: _ratio(by_name, "unstall", "alone") for kind, by_name in rates.items()},
        "delay_us": {
            kind: {name: {"median": _median(each), "p99": _percentile(each)} for name, each in by_name.items()}
            for kind, by_name in delays.items()
        },
        "watcher_cores": {"quiet": round(quiet, 3), "flooded": round(flooded, 3)},
    }


def _median(values: list[float]) -> float:
    return round(statistics.median(values), 1) if values else 0.0


def _percentile(values: list[float]) -> float:
    return round(sorted(values)[int(len(values) * 0.99) - 1], 1) if values else 0.0


def _ratio(by_name: dict[str, list[float]], name: str, other: str) -> float | None:
    if not by_name.get(other):
        return None
    return round(statistics.median(one / two for one, two in zip(by_name[name], by_name[other], strict=True)), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--mib", type=int, default=192)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results = measure(options.rounds, options.mib)
    print(json.dumps(results, indent=1))
    if options.out:
        written.write(options.out, results)


if __name__ == "__main__":
    main()
