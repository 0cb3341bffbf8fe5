"""The list of runs: name, state, how long, the first verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unstall.report.text import COLOUR, console, duration, print_clean
from unstall.runs import RunFolder, home


def rows(runs: Iterable[RunFolder]) -> list[dict[str, Any]]:
    """One row each, oldest first, from the stories that the runs left."""
    result = []
    for run in runs:
        story = run.read_story() or {}
        verdicts = story.get("verdicts") or []
        result.append(
            {
                "run": run.name,
                "state": story.get("state", "unknown"),
                "seconds": (story.get("progress") or {}).get("seconds"),
                "verdict": verdicts[0]["cause"] if verdicts else None,
                "where": verdicts[0]["where"] if verdicts else None,
                "command": story.get("command", []),
            }
        )
    return result


def show(listed: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    if not listed:
        out.print(f"No runs in {home()}. Start one: unstall run -- python train.py", soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("run", "state", "time", "verdict", "where"):
        table.add_column(name)
    for row in listed:
        state = Text(row["state"], style=COLOUR.get(row["state"], ""))
        took = duration(row["seconds"]) if row["seconds"] else ""
        table.add_row(Text(row["run"]), state, took, Text(row["verdict"] or "–"), Text(row["where"] or ""))
    print_clean(out, table)
