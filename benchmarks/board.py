"""What the board costs: how quickly it lists 1,000 runs and ten live ones, its CPU, and whether the live ones feel it.

    python -m benchmarks.board [--runs 1000] [--live 10] [--blocks 20] [--out benchmarks/results/board.json]

The live ones are real programs, each with its watcher, ten steps a second each, of which each computes some milliseconds and
notes how long that took. Time is divided into pairs of blocks of five seconds: in one of them the list and the page of a live
run are asked for once a second, as two open tabs do; in the other nobody looks. Which comes first changes from pair to pair, so
that a machine that others use more and more favours neither. The ratio is that of the two blocks of a pair.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psutil

from benchmarks import written
from unstall.journal.events import FitBegan, HostSampled, ProcessEnded, RunStarted, StepsEnded
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import JournalWriter

BLOCK_S = 5.0
LOOK_EVERY_S = 1.0
SETTLES_S = 4.0
BEGINS_S = 25.0  # until all live ones make steps
PROGRAM = """
import sys, time, unstall
kept = open(sys.argv[1], "w", buffering=1)
with unstall.watch(quiet=True) as run:
    for step in run.steps(range(10**9)):
        began, before = time.perf_counter(), time.thread_time()
        sum(number * number for number in range(60_000))
        kept.write(f"{time.time()} {time.perf_counter() - began} {time.thread_time() - before}\\n")
        time.sleep(0.1)
"""


def write_finished(folder: Path, number: int) -> None:
    """A run as it lies there when it has ended."""
    draw = random.Random(number)
    run = RunFolder(folder / f"2026-01-{number % 28 + 1:02d}-run-{number:04d}")
    run.path.mkdir()
    began = time.time() - 86400.0 - 600 * number
    writer = JournalWriter(run.journal_path("watcher", 4_000_000))
    writer.write(RunStarted(at=began, mode="run", command=["python", f"train_{number % 7}.py"], folder="/home", pid=4_000_000))
    writer.write(FitBegan(at=began + 1, api="keras", backend="tensorflow", epochs=3, steps_per_epoch=1000))
    for second in range(2, 52):
        loss = 3 / second + draw.random() / 10
        writer.write(StepsEnded(at=began + second, first=second * 10, last=second * 10 + 9, seconds=1.0, busy_s=0.9, loss=loss))
        writer.write(HostSampled(at=began + second, interval_s=1.0, cpu_cores=draw.random(), total_bytes=1 << 34))
    writer.write(ProcessEnded(at=began + 170, pid=4_000_000, exit_code=number % 3))
    progress = {"step": 519, "epoch": 1, "epochs": 3, "steps_per_epoch": 1000, "loss": 0.1, "seconds": 170.0}
    story = {
        "state": "failed" if number % 3 else "done", "verdicts": [], "command": ["python", f"train_{number % 7}.py"],
        "progress": progress, "ended": {"exit_code": number % 3}, "repairs": [],
    }  # fmt: skip
    run.write_story(story)
    for path in run.path.iterdir():
        os.utime(path, (began + 170, began + 170))


class Client:
    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self.seconds: dict[str, list[float]] = {}
        self._version = ""

    def get(self, what: str, path: str) -> bytes:
        began = time.perf_counter()
        self._connection.request("GET", path)
        body = self._connection.getresponse().read()
        self.seconds.setdefault(what, []).append(time.perf_counter() - began)
        return body

    def look(self, live: str) -> None:
        """As two tabs do, one with the list and one with a live run."""
        self._version = json.loads(self.get("rows", f"/rows?after={self._version}"))["version"]
        self.get("page of a live run", f"/run/{live}")


def start_live(home: Path, folder: Path, count: int) -> list[subprocess.Popen[bytes]]:
    program = folder / "live.py"
    program.write_text(PROGRAM)
    env = {**os.environ, "UNSTALL_HOME": str(home)}
    commands = [[sys.executable, str(program), str(folder / f"steps-{number}")] for number in range(count)]
    return [subprocess.Popen(command, env=env) for command in commands]


def start_board(home: Path) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-m", "unstall", "board", str(home), "--port", "0", "--no-browser"]
    env = {**os.environ, "UNSTALL_HOME": str(home)}
    board = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    assert board.stdout is not None
    return board, int(board.stdout.readline().strip().strip("/").rpartition(":")[2])


def measure(runs: int, live: int, blocks: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as temporary:
        folder, home = Path(temporary), Path(temporary) / "runs"
        home.mkdir()
        for number in range(runs):
            write_finished(home, number)
        started = start_live(home, folder, live)
        board, port = start_board(home)
        try:
            time.sleep(BEGINS_S)
            client = Client(port)
            listed = first_lists(client, psutil.Process(board.pid))
            spans, cpu_percent = look_by_turns(client, psutil.Process(board.pid), blocks, listed["live"])
            memory = psutil.Process(board.pid).memory_info().rss
        finally:
            for process in started:
                process.terminate()
            board.terminate()
            board.wait(30)
            for process in started:
                process.wait(30)
        felt = compared(folder, spans, live)
    asked = {
        what: {"median_ms": 1000 * statistics.median(each), "most_ms": 1000 * max(each)} for what, each in client.seconds.items()
    }
    return {
        "runs": runs, "live": live, "listed": listed, "asked": asked,
        "server_cpu_s_per_minute_looked_at": 0.6 * cpu_percent["looked at"],
        "server_cpu_s_per_minute_alone": 0.6 * cpu_percent["alone"], "server_mib": memory / 2**20, "felt": felt,
    }  # fmt: skip


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def first_lists(client: Client, server: psutil.Process) -> dict[str, Any]:
    """The first one reads every run; the next ones only what goes on."""
    before = cpu_s(server)
    client.get("first list", "/")
    first_cpu_s = cpu_s(server) - before
    for _ in range(5):
        time.sleep(LOOK_EVERY_S)
        client.get("list", "/")
    rows = json.loads(client.get("list as json", "/runs.json"))["runs"]
    going_on = [row for row in rows if row["is_live"]]
    return {
        "first_cpu_s": first_cpu_s,
        "rows": len(rows),
        "live_rows": len(going_on),
        "states": sorted({row["state"] for row in going_on}),
        "live": going_on[0]["run"],
    }


def look_by_turns(
    client: Client, server: psutil.Process, blocks: int, live: str
) -> tuple[list[tuple[bool, float, float]], dict[str, float]]:
    spans, used = [], {"looked at": 0.0, "alone": 0.0}
    time.sleep(SETTLES_S)
    for number in range(blocks):
        is_looked_at = number % 4 in {1, 2}
        began, before = time.time(), cpu_s(server)
        while time.time() - began < BLOCK_S:
            if is_looked_at:
                client.look(live)
            time.sleep(LOOK_EVERY_S)
        spans.append((is_looked_at, began, time.time()))
        used["looked at" if is_looked_at else "alone"] += cpu_s(server) - before
    seconds = {"looked at": sum(e - b for on, b, e in spans if on), "alone": sum(e - b for on, b, e in spans if not on)}
    return spans, {name: 100 * used[name] / seconds[name] for name in used}


def compared(folder: Path, spans: list[tuple[bool, float, float]], live: int) -> dict[str, Any]:
    """How long the same work took, looked at against not, over all live runs: a ratio for each pair of blocks."""
    noted = []
    for number in range(live):
        lines = (folder / f"steps-{number}").read_text().splitlines()[:-1]
        noted += [tuple(map(float, line.split())) for line in lines]
    ratios: dict[str, list[float]] = {"by the clock": [], "of CPU": []}
    for pair in zip(spans[::2], spans[1::2], strict=False):
        alone, looked_at = ([step for step in noted if began <= step[0] < ended] for _, began, ended in sorted(pair))
        for column, way in enumerate(ratios, 1):
            ratios[way].append(
                statistics.mean(step[column] for step in looked_at) / statistics.mean(step[column] for step in alone)
            )
    return {
        "step_ms": 1000 * statistics.median(step[2] for step in noted),
        **{way: {**_interval(each), "of_each_pair": each} for way, each in ratios.items()},
    }


def _interval(ratios: list[float]) -> dict[str, Any]:
    mean, spread = statistics.mean(ratios), statistics.stdev(ratios) / len(ratios) ** 0.5
    return {"ratio": mean, "median": statistics.median(ratios), "interval": [mean - 2 * spread, mean + 2 * spread]}


def show(plain: dict[str, Any]) -> None:
    felt = plain["felt"]
    print(f"{plain['runs']} runs and {plain['live']} live ones ({', '.join(plain['listed']['states'])})\n")
    print("| what | median | most |")
    print("| --- | --- | --- |")
    for what, each in plain["asked"].items():
        print(f"| {what} | {each['median_ms']:.0f} ms | {each['most_ms']:.0f} ms |")
    print(f"\nthe first list took {plain['listed']['first_cpu_s']:.2f} s of CPU")
    print(f"server: {plain['server_cpu_s_per_minute_looked_at']:.2f} s of CPU in a minute looked at by two tabs, "
          f"{plain['server_cpu_s_per_minute_alone']:.2f} s alone; {plain['server_mib']:.0f} MiB")  # fmt: skip
    for way in ("of CPU", "by the clock"):
        low, high = felt[way]["interval"]
        print(f"live runs: the same {felt['step_ms']:.1f} ms of work took {felt[way]['ratio']:.3f} times as long {way} while "
              f"looked at (95 %: {low:.3f} to {high:.3f}; median {felt[way]['median']:.3f})")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--live", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/board.json"))
    arguments = parser.parse_args()
    result = measure(arguments.runs, arguments.live, arguments.blocks)
    show(result)
    written.write(arguments.out, {"load_average": os.getloadavg(), **result})


if __name__ == "__main__":
    main()
