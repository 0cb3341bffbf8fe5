"""Runs the drivers: so many inputs each, made by Atheris (guided by coverage) and by Hypothesis.

    python -m fuzz.run [--inputs 100000] [--only coco] [--engine atheris] [--out benchmarks/results/fuzzing.json]

An input that raises anything but an error of Unstall's own, takes longer than 10 s or more than 2 GiB ends the run; it is kept in
fuzz/found/ and can be read again:  python -m fuzz.run --replay coco fuzz/found/crash-…
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import written

from fuzz import drivers

FOUND = Path(__file__).parent / "found"
LONGEST_S = 10
MAX_MIB = 2048
MAX_BYTES = 4096  # of an input
ENGINES = ("atheris", "hypothesis")


def driver_names() -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(drivers.__path__))


def run(driver: str, engine: str, inputs: int) -> dict[str, Any]:
    """In a process of its own, which a crash or a lack of memory ends alone."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=_memory_folder()) as folder:
        command = [sys.executable, "-m", f"fuzz.{engine}_engine", driver, str(inputs), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    executed = _last_number(done.stderr, "number_of_executed_units")
    survived = done.returncode == 0 and executed >= inputs
    if not survived:
        print(done.stderr[-4000:], file=sys.stderr)
    return {
        "parser": driver,
        "engine": engine,
        "inputs": executed,
        "survived": survived,
        "seconds": round(time.perf_counter() - began, 1),
        "peak_mib": _last_number(done.stderr, "peak_rss_mb"),
    }


def _last_number(text: str, name: str) -> int:
    found = re.findall(rf"stat::{name}:\s+(\d+)", text)
    return int(found[-1]) if found else 0


def _memory_folder() -> str | None:
    """Inputs are files: in memory, they cost little."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def replay(driver: str, path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        importlib.import_module(f"{drivers.__name__}.{driver}").one(path.read_bytes(), Path(folder))
    print(f"{path}: survived")


def show(row: dict[str, Any]) -> None:
    verdict = "survived" if row["survived"] else "FAILED"
    figures = f"{row['inputs']:9,} inputs {row['seconds']:7.1f} s {row['peak_mib']:6,} MiB"
    print(f"{row['parser']:10} {row['engine']:11} {figures}  {verdict}", flush=True)


def keep(row: dict[str, Any], path: Path) -> None:
    """Among the results, in place of an earlier run of the same parser and engine."""
    earlier = written.kept(path)
    others = [other for other in earlier.get("runs", []) if (other["parser"], other["engine"]) != (row["parser"], row["engine"])]
    rows = sorted([*others, row], key=lambda other: (other["parser"], other["engine"]))
    written.write(path, {"limits": {"seconds": LONGEST_S, "mib": MAX_MIB}, "runs": rows}, earlier)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--only", choices=driver_names(), action="append")
    parser.add_argument("--engine", choices=ENGINES, action="append")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--replay", nargs=2, metavar=("PARSER", "FILE"))
    arguments = parser.parse_args()
    if arguments.replay:
        replay(arguments.replay[0], Path(arguments.replay[1]))
        return 0
    FOUND.mkdir(exist_ok=True)
    rows = []
    for driver in arguments.only or driver_names():
        for engine in arguments.engine or ENGINES:
            rows.append(run(driver, engine, arguments.inputs))
            show(rows[-1])
            if arguments.out:
                keep(rows[-1], arguments.out)
    if not any(FOUND.iterdir()):
        shutil.rmtree(FOUND)
    return 0 if all(row["survived"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
