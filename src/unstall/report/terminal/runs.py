"""The list of runs on a terminal: name, state, how long, how far, the first verdict; and what is pruned of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import print_clean
from unstall.base.formatting import duration, size
from unstall.journal.run_folder import bucket_home, home
from unstall.report.story.outcome import CLEAR, UNKNOWN
from unstall.report.terminal.story import COLOUR, OUTCOME_COLOUR

if TYPE_CHECKING:
    from rich.console import Console

NO_VERDICT = {CLEAR: "nothing wrong was seen", UNKNOWN: "cannot tell"}
COLUMNS = ("run", "state", "time", "step", "verdict", "where")


def show(told: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    if not told["runs"]:
        none = f"No runs in {bucket_home() or home()}. Start one: unstall run -- python train.py"
        out.print(none if "left_out" not in told else f"None of {told['left_out']} runs fits.", soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, no_wrap=name in {"run", "state"}, overflow="fold")  # a name that is cut off is of no use
    for row in told["runs"]:
        state = Text(row["state"], style=COLOUR.get(row["state"], ""))
        took = duration(row["seconds"]) if row["seconds"] else ""
        words = row["verdict"] or row["failure"] or NO_VERDICT.get(row.get("outcome"), "–")
        verdict = Text(words, style=OUTCOME_COLOUR.get(row.get("outcome"), ""))
        table.add_row(Text(row["run"]), state, took, _steps(row["progress"]), verdict, Text(row["where"] or ""))
    print_clean(out, table)
    for row in told["runs"]:
        if row["state"] == "unknown" and row["note"]:
            out.print(Text(f"{row['run']}: {row['note']}."), soft_wrap=True)


def _steps(progress: dict[str, Any]) -> str:
    if progress["step"] is None:
        return ""
    return f"{progress['step']:,}/{progress['steps']:,}" if progress["steps"] else f"{progress['step']:,}"


def show_last_good(told: dict[str, Any], out: Console) -> None:
    """Its name alone, so that it can be used in another command."""
    out.print(told["last_good"], markup=False, soft_wrap=True)


def show_runs_to_prune(told: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    if not told["pruned"]:
        out.print("Nothing to prune: no run fits that has ended.", soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("run", "state", "size", "what"):
        table.add_column(name, justify="right" if name == "size" else "left")
    for row in told["pruned"]:
        state = Text(row["state"], style=COLOUR.get(row["state"], ""))
        what = "the run" if row["removed"] == [row["run"]] else ", ".join(row["removed"])
        table.add_row(Text(row["run"]), state, size(row["bytes"]), Text(what))
    print_clean(out, table)
    count = f"{len(told['pruned'])} run{'s' if len(told['pruned']) != 1 else ''}"
    words = "would be freed" if told["is_dry_run"] else "freed"
    out.print(f"{count}, {size(told['bytes'])} {words}.", soft_wrap=True)
