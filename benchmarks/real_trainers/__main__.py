"""Runs the cases of the trainers and writes the table.

    python -m benchmarks.real_trainers [NAME...] [--case FAULT...] [--look first|mended] [--keep FOLDER] [--python PATH]
                                        [--unstall PATH]
    python -m benchmarks.real_trainers --table

Each trainer is installed once into an environment of its own (~/.cache/unstall/real_trainers). What cannot be installed on this
machine is said, and left out. A row of the table is replaced when its case runs again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import written
from benchmarks.real_trainers import observe
from benchmarks.real_trainers.environment import NoEnvironmentError, interpreter
from benchmarks.real_trainers.table import make_table
from benchmarks.real_trainers.trainer import FAULTS, HEALTHY, Trainer, load_all

RESULTS = Path(__file__).parents[1] / "results" / "real_trainers.json"
KEY = ("trainer", "case", "way", "look")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--case", action="append", choices=sorted(FAULTS), help="This case alone. May be repeated.")
    parser.add_argument("--way", choices=("run", "attach"), help="This way alone.")
    parser.add_argument(
        "--look", default="mended", help="Column of the table: `first`, or `mended`, after what was missed was mended."
    )
    parser.add_argument("--keep", type=Path, help="Folder in which the data, the output and the runs are left.")
    parser.add_argument("--python", help="An interpreter in which the trainer is installed already.")
    parser.add_argument("--unstall", default=sys.executable, help="An interpreter in which the Unstall to be tried is installed.")
    parser.add_argument("--table", action="store_true", help="Print the results as a table; run nothing.")
    chosen = parser.parse_args()
    if chosen.table:
        print(make_table(written.kept(RESULTS).get("rows", [])))
        return 0
    trainers = load_all()
    unknown = set(chosen.names) - set(trainers)
    if unknown:
        parser.error(f"Expected {', '.join(trainers)}. Received: {', '.join(sorted(unknown))}.")
    failed = False
    for name in chosen.names or trainers:
        try:
            python = chosen.python or interpreter(trainers[name], name)
        except NoEnvironmentError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            failed = True
            continue
        for fault in chosen.case or trainers[name].cases:
            for row in _rows(name, trainers[name], fault, python, chosen):
                _write(row)
                print(json.dumps(row), flush=True)
    return int(failed)


def _rows(name: str, trainer: Trainer, fault_name: str, python: str, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    fault, rows = FAULTS[fault_name], []
    for way in ["run", "attach"] if fault.hangs else ["run"]:
        if chosen.way not in (None, way):
            continue
        with tempfile.TemporaryDirectory(prefix="unstall-trainer-", ignore_cleanup_errors=True) as scratch:
            folder = Path(scratch) if chosen.keep is None else chosen.keep / f"{name}-{fault_name}-{way}-{chosen.look}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            case = trainer.prepare(folder, fault_name, python)
            alone = _run_alone(trainer, folder / "alone", python) if fault is HEALTHY else None
            seen = (observe.run_case if way == "run" else observe.attach_case)(case, fault, folder, chosen.unstall)
            about = {"trainer": trainer.name, "versions": trainer.versions, "case": fault_name, "way": way, "look": chosen.look}
            harm = {} if alone is None else {"harm": observe.harm_done(alone, seen["exit_code"], folder)}
            rows.append(about | seen | harm)
    return rows


def _run_alone(trainer: Trainer, folder: Path, python: str) -> tuple[int, set[str]]:
    """With files of its own: a trainer may leave settings and caches behind."""
    folder.mkdir()
    return observe.run_alone(trainer.prepare(folder, HEALTHY.name, python), folder)


def _write(row: dict[str, Any]) -> None:
    earlier = written.kept(RESULTS)
    others = [each for each in earlier.get("rows", []) if any(each[key] != row[key] for key in KEY)]
    written.write(RESULTS, {**earlier, "rows": [*others, row]}, earlier)


if __name__ == "__main__":
    sys.exit(main())
