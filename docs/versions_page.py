"""docs/versions.md: the versions of frameworks that Unstall was tried on, from benchmarks/results/versions.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "benchmarks/results/versions.json"
SHOWN = {"tensorflow": "TensorFlow", "keras": "Keras", "torch": "PyTorch", "jax": "JAX"}
SAID = """# Versions

The same small programs, each with one fault or none, run on every version that can be installed here: hangs (a generator that
waits for a socket, a native reader that waits for a file, a deadlock, a pool without a free thread), slow input, NaN, a learning
rate that is too high or 0, retracing, disconnected gradients, a memory leak, errors, and healthy ones. They are in
[tests/versions/programs](../tests/versions/programs). `make test-versions` sets up an environment for each version, outside the
checkout, and runs them; `make test` runs some of them on TensorFlow 2.4 and 2.12.

The table counts what was said rightly. Of a fault that is the cause as the first verdict, with its line where one can be known,
and the steps, loss and epochs that a watched run must show. Of a healthy program it is that nothing is said, and that the steps
are seen. *As alone* counts the programs whose exit code and output were compared with those of the same
program alone, and were the same."""
COLUMNS = ("version", "Python", "`attach` on hangs", "`run` on faults", "healthy", "as alone", "wrong")


def page() -> str:
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    lines = [SAID, "", _row(COLUMNS), _row(["---"] * len(COLUMNS))]
    lines += [_stack(name, results) for name in results["stacks"]]
    if results["not_installed"]:
        lines += ["", "Not installed, and so not tried:", ""]
        lines += [f"- {name}: {reason}" for name, reason in results["not_installed"].items()]
    if results.get("not_tried"):
        lines += ["", f"Known to `make test-versions`, and not tried yet: {', '.join(results['not_tried'])}."]
    first = results.get("first_look")
    if first:
        lines += ["", "## The first look", "", first["said"], "", _row(("version", "right", "wrong")), _row(["---"] * 3)]
        lines += [_first(name, first["rows"]) for name in dict.fromkeys(row["stack"] for row in first["rows"])]
    lines += ["", f"Measured by `{results['command']}`."]
    return "\n".join(lines)


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _stack(name: str, results: dict[str, Any]) -> str:
    rows = [row for row in results["rows"] if row["stack"] == name]
    versions = results["stacks"][name]
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
    return _row((shown, versions["python"], _of(attached), _of(sick), _of(healthy), as_alone, "; ".join(wrong)))


def passed(row: dict[str, Any]) -> bool:
    checks = (row["is_line_right"], row["is_progress_right"], row["is_unharmed"])
    return bool(row["is_right"]) and not row["probe_failures"] and False not in checks


def _of(rows: list[dict[str, Any]]) -> str:
    return f"{sum(map(passed, rows))} of {len(rows)}" if rows else "–"


def _first(name: str, rows: list[dict[str, Any]]) -> str:
    own = [row for row in rows if row["stack"] == name]
    wrong = [f"{row['program']} ({row['how']}): {row['why']}" for row in own if not row["is_passed"]]
    return _row((name, f"{len(own) - len(wrong)} of {len(own)}", "; ".join(wrong)))
