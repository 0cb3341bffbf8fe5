"""Two runs compared, on a terminal: the answer, what differs and what it explains, how the runs differed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import create_grid, print_clean
from unstall.base.formatting import format_duration, strip_codes
from unstall.compare.comparison import describe_change
from unstall.report.terminal.story import COLOUR

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MAX_DIFFERENCES = 30
MAX_CHANGED_LINES = 6
LONGEST = 44  # of a value in the table


def show(plain: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    head = create_grid()
    for label in ("before", "after"):
        run = plain[label]
        outcome = run["outcome"] or "unknown"
        line = Text(strip_codes(str(run["name"] or "")))
        line.append(f"  {outcome}", style=COLOUR.get(outcome, ""))
        line.append(f"  {run['cause']}" if run["cause"] else "", style="bold cyan")
        line.append(f"  {format_duration(run['seconds'])}" if run["seconds"] else "", style="dim")
        head.add_row(label, line)
    for index, sentence in enumerate(plain["summary"]):
        head.add_row("answer" if index == 0 else "", Text(strip_codes(sentence), style="bold" if index == 0 else ""))
    print_clean(out, head)
    if plain["differences"]:
        out.print()
        print_clean(out, _differences(plain["differences"]))
    if plain["metrics"]:
        out.print()
        print_clean(out, _metrics(plain["metrics"]))


def _differences(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("what differs", "before", "after", "what it explains"):
        table.add_column(name, overflow="fold")
    for row in rows[:MAX_DIFFERENCES]:
        what = Text(row["detail"] or row["name"].replace("_", " "), style="bold" if row["amounts"] else "")
        if row["where"]:
            what.append(f"\n{row['where']}", style="dim")
        explains = Text("\n".join(row["amounts"]) or "–", style="cyan" if row["amounts"] else "dim")
        was, is_now = (_short(row[side], row["name"]) for side in ("before", "after"))
        table.add_row(what, Text(was, style="red"), Text(is_now, style="green"), explains)
        if row["name"] == "source":
            for line in row["lines"][:MAX_CHANGED_LINES]:
                table.add_row("", Text(strip_codes(line), style="red" if line.startswith("-") else "green"), "", "")
    if len(rows) > MAX_DIFFERENCES:
        table.add_row(f"and {len(rows) - MAX_DIFFERENCES} more", "", "", "")
    return table


def _short(value: Any, kind: str) -> str:
    from unstall.compare.differences.difference import describe_absent, format_value

    text = strip_codes(format_value(value, describe_absent(kind)))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _metrics(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("how they differed", "before", "after", ""):
        table.add_column(name)
    for row in rows:
        before, after = describe_change(row)
        known = row["before"] is not None and row["after"] is not None
        note = "" if row["is_clear"] or not known else "no more than such runs differ by themselves"
        table.add_row(row["name"], before, Text(after, style="bold" if row["is_clear"] else ""), Text(note, style="dim"))
    return table
