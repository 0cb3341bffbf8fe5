"""What it costs to follow very many workers, and how soon the one that stopped is named.

    python -m benchmarks.scale [--sizes 10 100 1000 10000] [--kinds gone stuck] [--rates early] [--seconds 20] [--writers 4]
                               [--out benchmarks/results/scale.json]

The supervising side is `unstall diagnose FOLDER --follow`, as it is; the workers are simulated
(benchmarks/scale_workers.py) and write real journals into real files, on the same machine. CPU is that of the supervising
process alone, while all train; the time to the name counts from the moment the worker stops, of which its watcher and those
of the others need eight seconds to know and two to look.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks import written

SETTLES_S = 6.0
MAX_TO_NAME_S = 90.0


def measure(size: int, kind: str, seconds: float, writers: int, rates: str) -> dict[str, Any]:
    stops = size // 3
    with tempfile.TemporaryDirectory(prefix="unstall-scale-") as temporary:
        folder = Path(temporary)
        runs, result = folder / "runs", folder / "summary.json"
        runs.mkdir()
        workers = start_workers(folder, size, [str(stops), kind, rates], min(writers, size))
        try:
            wait_for(folder, "ready-*", min(writers, size))
            command = [sys.executable, "-m", "unstall", "diagnose", f"{runs}/", "--follow", "--json", str(result)]
            follows = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            try:
                figures = follow(psutil.Process(follows.pid), folder, result, seconds)
            finally:
                follows.terminate()
                follows.wait(30)
        finally:
            (folder / "end").touch()
            for worker in workers:
                worker.wait(60)
        late = max(float(path.read_text()) for path in folder.glob("late-*"))
        size_bytes = sum(path.stat().st_size for path in runs.glob("*/*"))
    named = figures.pop("named")
    is_right = named == [f"2026-01-01-000000-train-worker{stops}"]
    return {
        "workers": size,
        "kind": kind,
        "rates": rates,
        "is_right": is_right,
        "named": named[:3],
        **figures,
        "journals_mib": size_bytes / 2**20,
        "simulated_late_s": late,
        "load_average": os.getloadavg()[0],
    }


def start_workers(folder: Path, size: int, more: list[str], writers: int) -> list[subprocess.Popen[bytes]]:
    started = []
    for number in range(writers):
        first, last = size * number // writers, size * (number + 1) // writers
        part = [str(folder), str(first), str(last), str(size), *more]
        started.append(subprocess.Popen([sys.executable, "-m", "benchmarks.scale_workers", *part]))
    return started


def wait_for(folder: Path, pattern: str, count: int) -> None:
    until = time.monotonic() + 120.0
    while len(list(folder.glob(pattern))) < count:
        if time.monotonic() > until:
            raise SystemExit("the simulated workers could not be started in two minutes")
        time.sleep(0.1)


def follow(process: psutil.Process, folder: Path, result: Path, seconds: float) -> dict[str, Any]:
    time.sleep(SETTLES_S)
    before, began = cpu_s(process), time.monotonic()
    time.sleep(seconds)
    used = (cpu_s(process) - before) / (time.monotonic() - began)
    stopped_at = time.monotonic() + 1.0
    aside = folder / ".stop"
    aside.write_text(repr(stopped_at))
    aside.replace(folder / "stop")
    before = cpu_s(process)
    while not (result.exists() and result.read_text().endswith("}\n")):
        if time.monotonic() - stopped_at > MAX_TO_NAME_S or not process.is_running():
            return {"cpu_cores": used, "named_after_s": None, "named": [], "rss_mib": process.memory_info().rss / 2**20}
        time.sleep(0.05)
    named_at = time.monotonic()
    run_group = json.loads(result.read_text())["run_groups"][0]
    verdict = run_group["verdicts"][0] if run_group["verdicts"] else {}
    return {
        "cpu_cores": used,
        "cpu_s_to_name": cpu_s(process) - before,
        "rss_mib": process.memory_info().rss / 2**20,
        "named_after_s": named_at - stopped_at,
        "named": [holder["run"] for holder in run_group["blockers"]],
        "why": run_group["blockers"][0]["description"],
        "cause": verdict.get("cause"),
    }


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def show(rows: list[dict[str, Any]]) -> None:
    names = (
        "workers",
        "rates",
        "stopped by",
        "named",
        "after",
        "simulation late",
        "CPU while all train",
        "CPU to name",
        "memory",
    )
    print(f"| {' | '.join((*names, 'load'))} |")
    print("| ---: | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        after = "never" if row["named_after_s"] is None else f"{row['named_after_s']:.1f} s"
        named = "rightly" if row["is_right"] else "WRONGLY"
        spent = row.get("cpu_s_to_name")
        cells = [
            f"{row['workers']:,}", row["rates"], row["kind"], named, after, f"{row['simulated_late_s']:.1f} s",
            f"{100 * row['cpu_cores']:.1f} % of a core", "" if spent is None else f"{spent:.1f} s", f"{row['rss_mib']:.0f} MiB",
            f"{row['load_average']:.0f}",
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000, 10000])
    parser.add_argument("--kinds", nargs="+", choices=["gone", "stuck"], default=["gone", "stuck"])
    parser.add_argument("--rates", choices=["early", "calm"], default="early", help="of a run's first five minutes, or later")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/scale.json"))
    arguments = parser.parse_args()
    rows = []
    for size in arguments.sizes:
        for kind in arguments.kinds:
            rows.append(measure(size, kind, arguments.seconds, arguments.writers, arguments.rates))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
            written.write(arguments.out, {"cores": os.cpu_count(), "rows": rows})
    show(rows)


if __name__ == "__main__":
    main()
