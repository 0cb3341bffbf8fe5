"""Runs the same programs on every version of the frameworks that can be had here, and compares what is said with what is true.

    python -m benchmarks.versions [--stacks NAME ...] [--programs NAME ...] [--jobs 2] [--keep FOLDER] [--out FILE]

Environments are set up by pip from pinned names, outside the checkout (tests/versions/stacks.py). A stack that cannot be had is
listed with the reason. Rows that were not run this time stay in the file as they were, and what was said at the first look
stays apart. Exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.versions import stacks, trial
from tests.versions.programs_index import programs
from tests.versions.trial import Row

from benchmarks import written

OUT = "benchmarks/results/versions.json"


def trials(stack: stacks.Stack, python: Path, arguments: argparse.Namespace) -> list[partial[Row]]:
    found = []
    for program in programs(stack.framework):
        if arguments.programs and program.name not in arguments.programs:
            continue
        if "run" in arguments.how:
            found.append(partial(trial.run, stack.name, python, program, arguments.keep))
        if program.hangs and "attach" in arguments.how:
            found.append(partial(trial.attach, stack.name, python, program, arguments.record))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stacks", nargs="*", default=[])
    parser.add_argument("--programs", nargs="*", default=[])
    parser.add_argument("--how", nargs="*", default=["run", "attach"], choices=["run", "attach"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for the run folders of what was judged wrong")
    parser.add_argument("--record", type=Path, help="a folder for the stacks of what hangs: tests/diagnosis/stacks")
    parser.add_argument("--only-ready", action="store_true", help="leave out stacks that are not set up yet")
    parser.add_argument("--out", default=OUT)
    arguments = parser.parse_args()
    result = _earlier(arguments.out)
    wrong = 0
    for stack in [stack for stack in stacks.STACKS if not arguments.stacks or stack.name in arguments.stacks]:
        if arguments.only_ready and not stacks.is_ready(stack):
            continue
        try:
            python = stacks.ensure(stack)
        except stacks.NotInstalled as error:
            result["not_installed"][stack.name] = str(error)
            print(f"{stack.name}: not installed: {error}", file=sys.stderr, flush=True)
            continue
        result["not_installed"].pop(stack.name, None)
        result["stacks"] = _in_order({**result["stacks"], stack.name: stacks.description(stack)})
        todo = trials(stack, python, arguments)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for row in pool.map(lambda one: one(), todo):
                wrong += not row.is_passed
                _keep_first_look(result, row)
                _put(result["rows"], row)
                mark = "ok   " if row.is_passed else "WRONG"
                print(f"{mark} {row.stack} {row.program} {row.how} ({row.seconds} s) {row.why}", file=sys.stderr, flush=True)
                result["not_tried"] = _not_tried(result)
                written.write(arguments.out, result, written.kept(Path(arguments.out)))
    return min(wrong, 1)


def _earlier(out: str) -> dict[str, Any]:
    try:
        earlier: dict[str, Any] = json.loads(Path(out).read_text())
    except (OSError, ValueError):
        return {"stacks": {}, "not_installed": {}, "rows": []}
    return earlier


def _in_order(found: dict[str, Any]) -> dict[str, Any]:
    """From old to new, whatever was run first."""
    names = list(stacks.BY_NAME)
    return {name: found[name] for name in sorted(found, key=lambda name: names.index(name) if name in names else len(names))}


def _not_tried(result: dict[str, Any]) -> list[str]:
    """Stacks of which nothing is known yet."""
    known = {*result["not_installed"], *(row["stack"] for row in result["rows"])}
    return [stack.name for stack in stacks.STACKS if stack.name not in known]


def _keep_first_look(result: dict[str, Any], row: Row) -> None:
    """What was said when this program was run on this stack for the first time: it stays, whatever is mended afterwards."""
    first = result.setdefault("first_look", {"rows": []})["rows"]
    if any((each["stack"], each["program"], each["how"]) == row.key for each in [*first, *result["rows"]]):
        return
    first.append({**row.plain(), "is_passed": row.is_passed})


def _put(rows: list[dict[str, Any]], row: Row) -> None:
    """In the place of an earlier one of the same trial."""
    plain = row.plain()
    for number, other in enumerate(rows):
        if (other["stack"], other["program"], other["how"]) == row.key:
            rows[number] = plain
            return
    rows.append(plain)


if __name__ == "__main__":
    sys.exit(main())
