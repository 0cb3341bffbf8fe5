"""The list of runs on a terminal, and the list of the workers of one run.

Of a run: name, state, how long, how far, the first verdict; and what is pruned of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import create_grid, print_clean
from unstall.base.formatting import format_duration, format_size
from unstall.journal.run_folder import get_bucket_home, get_home
from unstall.report.story.outcome import CLEAR, UNKNOWN
from unstall.report.terminal.story import COLOUR, OUTCOME_COLOUR, add_verdict, describe_damage

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

NO_VERDICT = {CLEAR: "nothing wrong was seen", UNKNOWN: "cannot tell"}
COLUMNS = ("run", "state", "time", "step", "verdict", "where")


def show(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    if not plain["runs"]:
        none = f"No runs in {get_bucket_home() or get_home()}. Start one: unstall run -- python train.py"
        out.print(none if "left_out" not in plain else f"None of {plain['left_out']} runs fits.", soft_wrap=True)
        return
    from unstall.diagnosis.findings import is_fallback

    table = Table(box=None, pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, no_wrap=name in {"run", "state"}, overflow="fold")  # a name that is cut off is of no use
    for row in plain["runs"]:
        state = Text(row["state"], style=COLOUR.get(row["state"], ""))
        took = format_duration(row["seconds"]) if row["seconds"] else ""
        is_general = row["verdict"] is not None and is_fallback(row["verdict"])  # then the error says more than its name
        words = (
            (None if is_general else row["verdict"])
            or row["failure"]
            or row["verdict"]
            or NO_VERDICT.get(row.get("outcome"), "–")
        )
        verdict = Text(words, style=OUTCOME_COLOUR.get(row.get("outcome"), ""))
        table.add_row(Text(row["run"]), state, took, _steps(row["progress"]), verdict, Text(row["where"] or ""))
    print_clean(out, table)
    for row in plain["runs"]:
        if row["state"] == "unknown" and row["note"]:
            out.print(Text(f"{row['run']}: {row['note']}."), soft_wrap=True)


def _steps(progress: dict[str, Any]) -> str:
    if progress["step"] is None:
        return ""
    return f"{progress['step']:,}/{progress['steps']:,}" if progress["steps"] else f"{progress['step']:,}"


def show_last_good(plain: dict[str, Any], out: Console) -> None:
    """Its name alone, so that it can be used in another command."""
    out.print(plain["last_good"], markup=False, soft_wrap=True)


def show_runs_to_prune(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    if not plain["pruned"]:
        out.print("Nothing to prune: no run fits that has ended.", soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("run", "state", "size", "what"):
        table.add_column(name, justify="right" if name == "size" else "left")
    for row in plain["pruned"]:
        state = Text(row["state"], style=COLOUR.get(row["state"], ""))
        what = "the run" if row["removed"] == [row["run"]] else ", ".join(row["removed"])
        table.add_row(Text(row["run"]), state, format_size(row["bytes"]), Text(what))
    print_clean(out, table)
    count = f"{len(plain['pruned'])} run{'s' if len(plain['pruned']) != 1 else ''}"
    words = "would be freed" if plain["is_dry_run"] else "freed"
    out.print(f"{count}, {format_size(plain['bytes'])} {words}.", soft_wrap=True)


# Several workers on a terminal: what holds for the whole, and a line for each; the one that holds the others stands out.


MAX_SHOWN = 40
MAX_HOLDERS = 8
MARK = "◀ holds the others"


def show_workers(story: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    table = create_grid()
    state = story["state"]
    place = f" at {story['coordinator']}" if story["coordinator"] else ""
    table.add_row(Text(state, style=COLOUR.get(state, "bold")), f"{story['world_size']} workers{place}{_not_read(story)}")
    for holder in story["blockers"][:MAX_HOLDERS]:
        host = f" ({holder['host']})" if holder["host"] else ""
        table.add_row(
            "held by",
            Text(f"worker {holder['rank']}{host}: {holder['description']}; {story['num_waiting']:,} wait", style="bold red"),
        )
    for index, verdict in enumerate(story["verdicts"]):
        add_verdict(table, verdict, "cause" if index == 0 else "also")
    if not story["verdicts"] and not story["blockers"]:
        words = "cannot tell: no cause was found among the workers"
        if story["outcome"] == CLEAR:
            words = "nothing wrong among the workers in what could be " + ("read" if story["unread"] else "seen")
        table.add_row("verdict", Text(words, style=OUTCOME_COLOUR[story["outcome"]]))
    for index, line in enumerate(describe_damage(story)[:MAX_SHOWN]):
        table.add_row("damaged" if index == 0 else "", Text(line, style="yellow"))
    for row in story["unknown"][:4] if state in {"stuck", "failed"} and not story["verdicts"] else []:
        table.add_row("not seen", Text(row["missing"], style="dim"))
    print_clean(out, table)
    print_clean(out, _workers(story["workers"]))


def _not_read(story: dict[str, Any]) -> str:
    count = len(story["not_read"])
    return f"; of {count} there is no run here" if count else ""


def _workers(workers: list[dict[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2), pad_edge=False)
    for name in ("worker", "machine", "step", "for", "what it does", ""):
        table.add_column(name, overflow="fold", header_style="dim")
    ordered = sorted(workers, key=lambda worker: not worker["is_blocking"])
    for worker in ordered[:MAX_SHOWN]:
        style = "bold red" if worker["is_blocking"] else ""
        step = f"{worker['step']:,}" if worker["step"] is not None else ""
        own = f"{worker['verdict']['cause']}: {worker['verdict']['summary']}" if worker["verdict"] else ""
        words = worker["description"] + (f"\n{own}" if own else "")
        row = (
            worker["name"],
            worker["host"],
            step,
            format_duration(worker["seconds"]),
            words,
            MARK if worker["is_blocking"] else "",
        )
        table.add_row(*(Text(str(cell), style=style) for cell in row))
    if len(ordered) > MAX_SHOWN:
        table.add_row(f"and {len(ordered) - MAX_SHOWN:,} more")
    return table
