"""Does `unstall compare` name the cause? Pairs of real runs with known changes: what was planted, what is named, the amounts.

python -m benchmarks.compare --work FOLDER [NAME…]. Runs are kept in the folder: a call goes on where the last one ended, and only
compares where all has run. The truth of an amount of memory is the change by itself, measured in two further runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import astuple
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.compare_pairs import IDENTICAL, PAIRS, Pair, Variant
from benchmarks.compare_programs import PROGRAMS, write_data, write_package
from benchmarks.compare_surroundings import started_in
from unstall.compare.comparison import NOTHING, told
from unstall.compare.planned import planner
from unstall.compare.record import record_of
from unstall.runs import RunFolder

RESULTS = Path(__file__).parent / "results" / "compare.json"
LONGEST_S = 300.0
ERROR = 0.10  # of an amount of memory
CALLS_RIGHT, OF = 18, 20


def run(variant: Variant, repeat: int, work: Path) -> RunFolder:
    """The run of a variant; made now if it is not there."""
    key = sha256(repr((astuple(variant), repeat, PROGRAMS.get(variant.program, ""))).encode()).hexdigest()[:12]
    folder = work / "runs" / f"{variant.program}-{key}"
    found = _run_in(folder / "home")
    if found is not None:
        return found
    shutil.rmtree(folder, ignore_errors=True)
    place = folder / "project"
    place.mkdir(parents=True)
    with started_in(variant, place, write_data(variant.data, work) if variant.data else None) as (before, given):
        env = {**os.environ, **given, "UNSTALL_HOME": str(folder / "unfinished"), **dict(variant.variables)}
        command = [sys.executable, "-m", "unstall", *_command(variant, place)]
        began = time.monotonic()
        subprocess.run([*before, *command], cwd=place, env=env, timeout=LONGEST_S, stdin=subprocess.DEVNULL,
                       stdout=(folder / "output.txt").open("w"), stderr=subprocess.STDOUT, check=False)  # fmt: skip
    (folder / "unfinished").rename(folder / "home")
    print(f"  ran {variant.program} {key} in {time.monotonic() - began:.0f} s", flush=True)
    found = _run_in(folder / "home")
    if found is None:
        raise SystemExit(f"No run came of {variant}: see {folder / 'output.txt'}")
    return found


def _run_in(home: Path) -> RunFolder | None:
    folders = sorted(path for path in home.iterdir() if path.is_dir()) if home.is_dir() else []
    return RunFolder(folders[0]) if folders else None


def _command(variant: Variant, place: Path) -> list[str]:
    if variant.program == "train":
        options = [part for name, value in variant.settings for part in (f"--{name.replace('_', '-')}", value)]
        options = [part for part in options if part not in {"--tensorboard", "false"}]
        return ["train", "--no-tensorboard", *options]
    text = PROGRAMS[variant.program]
    for before, after in variant.changes:
        if before not in text:
            raise SystemExit(f"'{before}' does not stand in the program {variant.program}.")
        text = text.replace(before, after)
    (place / "train.py").write_text(text)
    if variant.package is not None:
        write_package(place / "lib", *variant.package)
    return ["run", "--quiet", "--", sys.executable, "train.py", *variant.arguments]


def compared(before: RunFolder, after: RunFolder) -> dict[str, Any]:
    older, newer = record_of(before), record_of(after)
    return told(older, newer, planner(older, newer))


def of_pair(pair: Pair, work: Path) -> dict[str, Any]:
    before, after = run(pair.before, 0, work), run(pair.after, 0, work)
    plain = compared(before, after)
    named = [each["name"] for each in plain["differences"]]
    first = plain["differences"][0] if plain["differences"] else None
    is_explained = bool(first and first["amounts"])
    return {
        "pair": pair.name, "planted": list(pair.planted), "named": named[:4],
        "told": plain["answer"][:4], "is_first": bool(named) and named[0] in pair.main, "is_explained": is_explained,
        "outcomes": [plain["before"]["outcome"], plain["after"]["outcome"]], "cause": plain["after"]["cause"],
        "memory": [_amount(name, alone, pair, plain, work) for name, alone in pair.alone.items()],
    }  # fmt: skip


def _amount(name: str, alone: Variant, pair: Pair, plain: dict[str, Any], work: Path) -> dict[str, Any]:
    """What is said of a change, and what it really is: further runs with it and without it."""
    said = [
        each["amount"]
        for row in plain["differences"]
        if row["name"] == name
        for each in row["explains"]
        if each["channel"] == "memory"
    ]
    with_it = [_peak(run(alone, repeat, work)) for repeat in (1, 2)]
    without = [_peak(run(pair.before, repeat, work)) for repeat in (1, 2)]
    truth = statistics.fmean(with_it) - statistics.fmean(without)
    amount = said[0] if said else None
    error = abs(amount - truth) / abs(truth) if amount is not None and truth else None
    return {"change": name, "said_bytes": amount, "true_bytes": truth, "error": error}


def _peak(folder: RunFolder) -> float:
    figures = record_of(folder)["figures"]
    return float(figures.get("host_peak_bytes") or 0.0)


def of_identical(name: str, variant: Variant, work: Path) -> dict[str, Any]:
    plain = compared(run(variant, 0, work), run(variant, 1, work))
    return {
        "pair": f"identical, {name}", "told": plain["answer"], "differences": [each["words"] for each in plain["differences"]],
        "is_quiet": plain["answer"] == [NOTHING],
    }  # fmt: skip


def summary(pairs: list[dict[str, Any]], identical: list[dict[str, Any]]) -> dict[str, Any]:
    amounts = [each for row in pairs for each in row["memory"]]
    within = [each for each in amounts if each["error"] is not None and each["error"] <= ERROR]
    return {
        "pairs": len(pairs), "main_cause_first": sum(row["is_first"] for row in pairs),
        "and_explained": sum(row["is_first"] and row["is_explained"] for row in pairs),
        "needed": f"{CALLS_RIGHT} of {OF}", "memory_amounts": len(amounts), "memory_within_10_percent": len(within),
        "identical": len(identical), "identical_quiet": sum(row["is_quiet"] for row in identical),
    }  # fmt: skip


def show(row: dict[str, Any]) -> None:
    mark = "ok " if row["is_first"] else "NO "
    print(f"{mark} {row['pair']:<26} planted {', '.join(row['planted']):<42} named {row['named'][:2]}")
    for line in row["told"]:
        print(f"       {line}")
    for each in row["memory"]:
        said = "nothing" if each["said_bytes"] is None else f"{each['said_bytes'] / 2**20:+.0f} MiB"
        error = "" if each["error"] is None else f", {each['error']:.1%} off"
        print(f"       memory of {each['change']}: said {said}, truth {each['true_bytes'] / 2**20:+.0f} MiB{error}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of pairs; else all")
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "unstall-benchmark-compare")
    wanted = parser.parse_args()
    work: Path = wanted.work.absolute()
    pairs, identical = [], []
    for pair in PAIRS:
        if not wanted.names or pair.name in wanted.names:
            pairs.append(of_pair(pair, work))
            show(pairs[-1])
    for name, variant in IDENTICAL.items():
        if not wanted.names or "identical" in wanted.names:
            identical.append(of_identical(name, variant, work))
            row = identical[-1]
            print(f"{'ok ' if row['is_quiet'] else 'NO '} {row['pair']}: {'; '.join(row['told'])} {row['differences']}")
    found = {"summary": summary(pairs, identical), "pairs": pairs, "identical": identical}
    print(json.dumps(found["summary"], indent=1))
    if not wanted.names:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
