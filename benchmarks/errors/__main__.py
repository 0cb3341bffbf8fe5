"""Runs programs that end with an error under `unstall run`, and compares what is said with what is true.

    python -m benchmarks.errors [--programs NAME ...] [--half dev|locked] [--jobs 2] [--keep FOLDER] [--out FILE]

Each folder of benchmarks/errors/programs holds one program and truth.json: whether it dies, the line that must be changed, and
the facts that a good explanation contains. The programs of the half "locked" are not looked at while causes are written. What was
said when a program was run for the first time stays in the results. Whether the facts are told, and whether every sentence is
true, is for a reader to judge, who writes benchmarks/errors/judgements.json; the table counts both. Exit code 1 if a healthy
program got a verdict, or one that dies no answer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import written
from benchmarks.errors.trial import Program, has_packages, load_programs, try_program

OUT = "benchmarks/results/errors.json"
_COLUMNS = ("half", "dies", "answered", "narrower cause", "culprit line", "all facts", "nothing false", "healthy, no verdict")
JUDGEMENTS = Path(__file__).parent / "judgements.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="*", default=[], help="names; all if none is given")
    parser.add_argument("--half", choices=["dev", "locked"], help="only the programs of this half")
    parser.add_argument("--python", default=sys.executable, help="runs the programs; some need packages of their own")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for the run folders, and for what was said of each program")
    parser.add_argument("--out", default=OUT)
    arguments = parser.parse_args()
    programs = [each for each in load_programs() if _is_chosen(each, arguments)]
    for lacking in [each for each in programs if not has_packages(arguments.python, each.needs)]:
        programs.remove(lacking)
        print(f"not tried {lacking.name}: {', '.join(lacking.needs)} cannot be imported by {arguments.python}", file=sys.stderr)
    earlier = written.kept(Path(arguments.out))
    rows = {row["program"]: row for row in earlier.get("rows", [])}
    first = {row["program"]: row for row in earlier.get("first_look", {}).get("rows", [])}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(partial(try_program, python=arguments.python, keep=arguments.keep), programs):
            plain = row.as_plain()
            rows[row.program] = plain
            first.setdefault(row.program, plain)
            result = {"first_look": {"rows": _sorted(first)}, "rows": _sorted(rows)}
            written.write(arguments.out, result, earlier)
            mark = "ok   " if row.is_right else "WRONG"
            print(f"{mark} {row.program}: {row.said} ({row.seconds} s)", file=sys.stderr, flush=True)
    _show("First look", _chosen_rows(first, programs))
    _show("Now", _chosen_rows(rows, programs))
    return int(any(not row["is_answered"] for row in _chosen_rows(rows, programs)))


def _is_chosen(program: Program, arguments: argparse.Namespace) -> bool:
    return (not arguments.programs or program.name in arguments.programs) and arguments.half in (None, program.half)


def _sorted(rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [rows[name] for name in sorted(rows)]


def _chosen_rows(rows: dict[str, dict[str, Any]], programs: Iterable[Program]) -> list[dict[str, Any]]:
    return [rows[program.name] for program in programs if program.name in rows]


def _show(title: str, rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    judgements = written.kept(JUDGEMENTS)
    table = Table(title=title)
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for half in sorted({row["half"] for row in rows}):
        dies = [row for row in rows if row["half"] == half and row["dies"]]
        healthy = [row for row in rows if row["half"] == half and not row["dies"]]
        # A judgement holds for the text that the reader saw.
        judged = [each for row in dies for each in judgements.get(row["program"], []) if each["said"] == row["text"]]
        table.add_row(
            half,
            str(len(dies)),
            str(sum(row["is_answered"] for row in dies)),
            str(sum(bool(row["named"]) and row["named"][0] != "program_error" for row in dies)),
            str(sum(row["is_culprit_shown"] for row in dies)),
            f"{sum(each['has_all_facts'] for each in judged)} of {len(judged)} read",
            f"{sum(not each['false'] for each in judged)} of {len(judged)} read",
            f"{sum(not row['named'] for row in healthy)} of {len(healthy)}",
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    sys.exit(main())
