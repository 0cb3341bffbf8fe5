"""docs/versions.md: the versions of frameworks that Unstall was tried on, from benchmarks/results/versions.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results/versions.json"
PROGRAMS = ROOT / "tests/versions/programs"
SHOWN = {"tensorflow": "TensorFlow", "keras": "Keras", "torch": "PyTorch", "jax": "JAX"}
SAID = """# Versions

Unstall is tried on old and new versions of TensorFlow, Keras, PyTorch and JAX with the same small programs. Each has one fault
or none: hangs (a generator that waits for a socket, a native reader that waits for a file, a deadlock, a thread pool that is used
up), slow input, NaN, a learning rate that is too high or 0, retracing, disconnected gradients, a memory leak, errors, and healthy
trainings. The programs are in [tests/versions/programs](../tests/versions/programs).

`make test-versions` sets up an environment for each version, outside the checkout, and runs all of them there; `make test` runs
some on TensorFlow 2.4 and 2.12. Not every program has been run on every version: the table says how many.

## Results

*Programs* says how many of the programs for that framework were run on that version. A program with a fault counts as right if
the first verdict is its cause, with the line at fault where one can be known, and if steps, loss and epochs were seen under
`unstall run`. A healthy one counts as right if there is no verdict and steps were seen. Some programs were run without Unstall,
too: *as alone* says in how many of these the exit code and the output were the same."""
FIRST_LOOK = """## First look

What was said when a program was run on a version for the first time, before anything was mended for that version. The versions
were tried one after the other: what one of them led to was mended before the next."""
COLUMNS = ("version", "Python", "programs", "`attach` on hangs", "`run` on faults", "healthy", "as alone", "wrong")


def page() -> str:
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    lines = [SAID, "", *_table(results, results["rows"])]
    if results["not_installed"]:
        lines += ["", "These were not installed, and so not tried:", ""]
        lines += [f"- {name}: {reason}" for name, reason in results["not_installed"].items()]
    if results.get("not_tried"):
        lines += [
            "",
            f"`make test-versions` knows these, too; nothing has been run on them yet: {', '.join(results['not_tried'])}.",
        ]
    first = results.get("first_look")
    if first:
        lines += ["", FIRST_LOOK, *([first["said"]] if "said" in first else []), "", *_table(results, first["rows"])]
    lines += ["", "## Commands", "", *(f"- `{command}`" for command in results["command"].split("; "))]
    return "\n".join(lines)


def _table(results: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    names = [name for name in results["stacks"] if any(row["stack"] == name for row in rows)]
    return [_line(COLUMNS), _line(["---"] * len(COLUMNS)), *(_stack(name, results["stacks"][name], rows) for name in names)]


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _stack(name: str, versions: dict[str, str], all_rows: list[dict[str, Any]]) -> str:
    rows = [row for row in all_rows if row["stack"] == name]
    attached = [row for row in rows if row["how"] == "attach"]
    healthy = [row for row in rows if row["program"].startswith("healthy_")]
    sick = [row for row in rows if row["how"] == "run" and row not in healthy]
    compared = [row["is_unharmed"] for row in rows if row["is_unharmed"] is not None]
    wrong = [f"{row['program']} ({row['how']}): {row['why'] or row['probe_failures']}" for row in rows if not passed(row)]
    shown = " · ".join(
        f"{title} {versions[key]}"
        for key, title in SHOWN.items()
        if key in versions and not (key == "jax" and "tensorflow" in versions)
    )
    as_alone = f"{sum(compared)} of {len(compared)}" if compared else "–"
    programs = f"{len({row['program'] for row in rows})} of {_count_programs(name)}"
    return _line((shown, versions["python"], programs, _of(attached), _of(sick), _of(healthy), as_alone, "; ".join(wrong)))


def _count_programs(stack: str) -> int:
    framework = stack.partition("-")[0].replace("keras", "tensorflow")
    return len(list((PROGRAMS / ("tensorflow1" if stack == "tensorflow-1.15" else framework)).glob("*.py")))


def passed(row: dict[str, Any]) -> bool:
    checks = (row["is_line_right"], row["is_progress_right"], row["is_unharmed"])
    return bool(row["is_right"]) and not row.get("probe_failures") and False not in checks


def _of(rows: list[dict[str, Any]]) -> str:
    return f"{sum(map(passed, rows))} of {len(rows)}" if rows else "–"
