"""Does `unstall compare` name the cause? Pairs of real runs with known changes: what was planted, what is named, the amounts.

python -m benchmarks.compare --work FOLDER [NAME…]. Runs are kept in the folder: a call goes on where the last one ended, and only
compares where all has run. The truth of an amount of memory is the change by itself: the median of several further runs with it,
less that of as many without, watched by nobody (`compare_truth`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import astuple, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks import written
from benchmarks.compare_held_out import HELD_OUT
from benchmarks.compare_held_out import PROGRAMS as HELD
from benchmarks.compare_pairs import IDENTICAL, PAIRS, Pair, Variant
from benchmarks.compare_programs import PROGRAMS as OWN
from benchmarks.compare_programs import write_data, write_package
from benchmarks.compare_surroundings import started_in
from benchmarks.compare_truth import GroundTruth, measured_truth
from benchmarks.compare_unseen import PROGRAMS as OTHERS
from benchmarks.compare_unseen import UNSEEN, UNSEEN_IDENTICAL
from unstall.compare.attribution.explanation import format_range
from unstall.compare.attribution.memory import create_planner
from unstall.compare.attribution.noise import HOST_NOISE_BYTES
from unstall.compare.comparison import NOTHING, compare_as_plain
from unstall.compare.record.store import load_record
from unstall.journal.run_folder import RunFolder

RESULTS = Path(__file__).parent / "results" / "compare.json"
PROGRAMS = {**OWN, **OTHERS, **HELD}
LONGEST_S = 300.0
ONE_COMPILER = ("XLA_FLAGS", "--xla_cpu_parallel_codegen_split_count=1")
ERROR = 0.10  # of an amount of memory
CALLS_RIGHT, OF = 18, 20


@dataclass(frozen=True)
class Runs:
    """Runs by their variants, kept in a folder."""

    work: Path
    only_ready: bool

    def of(self, variant: Variant, repeat: int) -> RunFolder | None:
        """Made now if it is not there; None where nothing is to be run."""
        return run(variant, repeat, self.work, self.only_ready)

    def truth(self, without: Variant, with_it: Variant) -> GroundTruth | None:
        """Runs by themselves, not watched. The trainer has no other way than to be watched."""
        return measured_truth(partial(self._one_peak, without), partial(self._one_peak, with_it))

    def _one_peak(self, variant: Variant, repeat: int) -> float | None:
        return self._watched_peak(variant, repeat) if variant.program == "train" else self._peak(variant, repeat)

    def _watched_peak(self, variant: Variant, repeat: int) -> float | None:
        """Compiled by one thread: what several leave in the process differs by more than what is to be measured."""
        folder = self.of(replace(variant, variables=(*variant.variables, ONE_COMPILER)), repeat)
        return load_record(folder)["figures"].get("host_peak_bytes") if folder is not None else None

    def _peak(self, variant: Variant, repeat: int) -> float | None:
        """As the kernel counts it."""
        place = self.work / "peaks" / key_of(variant, repeat)
        kept = place.with_suffix(".json")
        if not kept.exists() and not self.only_ready:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            with started_in(variant, place, write_data(variant.data, self.work)) as (before, given):
                env = {**os.environ, **given, **dict(variant.variables)}
                command = [*before, *_command(variant, place)[3:]]
                program = subprocess.Popen(
                    command, cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                _, status, usage = os.wait4(program.pid, 0)
            if status:
                raise SystemExit(f"{variant} ended with {status}.")
            kept.write_text(json.dumps(usage.ru_maxrss * 1024))
            print(f"  measured {variant.program} {place.name} by itself", flush=True)
        return float(json.loads(kept.read_text())) if kept.exists() else None


def key_of(variant: Variant, repeat: int) -> str:
    return sha256(repr((astuple(variant), repeat, PROGRAMS.get(variant.program, ""))).encode()).hexdigest()[:12]


def run(variant: Variant, repeat: int, work: Path, only_ready: bool) -> RunFolder | None:
    key = key_of(variant, repeat)
    folder = work / "runs" / f"{variant.program}-{key}"
    found = _run_in(folder / "home")
    if found is not None or only_ready:
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
        write_package(place.parent / "site-packages", *variant.package)
    return ["run", "--quiet", "--", sys.executable, "train.py", *variant.arguments]


def compared(before: RunFolder, after: RunFolder) -> dict[str, Any]:
    older, newer = load_record(before), load_record(after)
    return compare_as_plain(older, newer, create_planner(older, newer))


def of_pair(pair: Pair, runs: Runs) -> dict[str, Any] | None:
    before, after = runs.of(pair.before, 0), runs.of(pair.after, 0)
    if before is None or after is None:
        return None
    plain = compared(before, after)
    named = [each["name"] for each in plain["differences"]]
    first = plain["differences"][0] if plain["differences"] else None
    return {
        "pair": pair.name, "planted": list(pair.planted), "named": named[:4],
        "told": plain["summary"][:4], "is_first": bool(named) and named[0] in pair.main,
        "is_explained": bool(first and first["amounts"]),
        "outcomes": [plain["before"]["outcome"], plain["after"]["outcome"]], "cause": plain["after"]["cause"],
        "memory": [row for name, alone in pair.alone.items() if (row := _amount(name, alone, pair, plain, runs)) is not None],
    }  # fmt: skip


def _amount(name: str, alone: Variant, pair: Pair, plain: dict[str, Any], runs: Runs) -> dict[str, Any] | None:
    """What is said of a change, and what it really is: further runs with it and without it."""
    rows = [row for row in plain["differences"] if row["name"] == name]
    said = [each for row in rows for each in row["explains"] if each["channel"] == "memory"]
    measured = runs.truth(pair.before, alone)
    if measured is None:
        return None
    truth = measured.bytes
    amount, result = (said[0]["amount"], said[0]["range"]) if said else (None, None)
    error = abs(amount - truth) / abs(truth) if amount is not None and truth else None
    is_near = error <= ERROR if error is not None else abs(truth) <= HOST_NOISE_BYTES  # of noise nothing is to be said
    is_right = min(result) <= truth <= max(result) if result else is_near
    could_be = is_near or (amount is not None and abs(amount - truth) <= ERROR * abs(truth) + measured.unsure)
    return {
        "change": name, "said_bytes": amount, "said_range": result, "true_bytes": truth, "true_unsure_bytes": measured.unsure,
        "true_runs": measured.runs, "error": error, "is_within_10_percent": is_near, "can_be_within_10_percent": could_be,
        "is_right": is_right,
    }  # fmt: skip


def of_identical(name: str, variant: Variant, runs: Runs) -> dict[str, Any] | None:
    first, second = runs.of(variant, 0), runs.of(variant, 1)
    if first is None or second is None:
        return None
    plain = compared(first, second)
    return {
        "pair": f"identical, {name}", "told": plain["summary"],
        "differences": [each["description"] for each in plain["differences"]],
        "is_quiet": plain["summary"] == [NOTHING],
    }  # fmt: skip


def summary(pairs: list[dict[str, Any]], identical: list[dict[str, Any]]) -> dict[str, Any]:
    amounts = [each for row in pairs for each in row["memory"]]
    within = [each for each in amounts if each["is_within_10_percent"]]
    return {
        "pairs": len(pairs), "main_cause_first": sum(row["is_first"] for row in pairs),
        "and_explained": sum(row["is_first"] and row["is_explained"] for row in pairs),
        "needed": f"{CALLS_RIGHT} of {OF}", "memory_amounts": len(amounts), "memory_within_10_percent": len(within),
        "memory_within_10_percent_as_far_as_the_truth_is_known": sum(each["can_be_within_10_percent"] for each in amounts),
        "memory_told_as_a_range": sum(bool(each["said_range"]) for each in amounts),
        "memory_right_as_told": sum(each["is_right"] for each in amounts),
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
        said += f" (as {format_range(*each['said_range'])})" if each["said_range"] else ""
        truth = f"{each['true_bytes'] / 2**20:+.0f} ± {each['true_unsure_bytes'] / 2**20:.0f} MiB"
        truth += f" ({min(each['true_runs'])} runs each)"
        print(f"       memory of {each['change']}: said {said}, truth {truth}{error}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of pairs, or 'identical'; else all")
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "unstall-benchmark-compare")
    parser.add_argument("--ready", action="store_true", help="run nothing: only what has run already is compared")
    wanted = parser.parse_args()
    runs = Runs(wanted.work.absolute(), wanted.ready)
    chosen = [pair for pair in (*PAIRS, *UNSEEN, *HELD_OUT) if not wanted.names or pair.name in wanted.names]
    twice = {
        name: variant
        for name, variant in {**IDENTICAL, **UNSEEN_IDENTICAL}.items()
        if not wanted.names or "identical" in wanted.names
    }
    for variant, repeat in in_order(chosen, twice):
        runs.of(variant, repeat)
    for pair in chosen:
        for variant in pair.alone.values():
            runs.truth(pair.before, variant)
    pairs = [row for pair in chosen if (row := of_pair(pair, runs)) is not None]
    identical = [row for name, variant in twice.items() if (row := of_identical(name, variant, runs)) is not None]
    for row in pairs:
        show(row)
    for row in identical:
        print(f"{'ok ' if row['is_quiet'] else 'NO '} {row['pair']}: {'; '.join(row['told'])} {row['differences']}")
    later, held = ([row for row in pairs if row["pair"] in {pair.name for pair in some}] for some in (UNSEEN, HELD_OUT))
    found = {
        "summary": summary(pairs, identical), "of_them_written_later": summary(later, []),
        "of_them_held_out": summary(held, []), "pairs": pairs, "identical": identical,
    }  # fmt: skip
    print(json.dumps({name: found[name] for name in ("summary", "of_them_written_later", "of_them_held_out")}, indent=1))
    if not wanted.names:
        written.write(RESULTS, found)


def in_order(pairs: list[Pair], twice: dict[str, Variant]) -> list[tuple[Variant, int]]:
    """What is asked first is run first: the pairs, then the identical ones."""
    first = [(variant, 0) for pair in pairs for variant in (pair.before, pair.after)]
    then = [(variant, repeat) for variant in twice.values() for repeat in (0, 1)]
    return list(dict.fromkeys([*first, *then]))


if __name__ == "__main__":
    main()
