"""What a preflight found, on a terminal: one row for each check, with its reason and its cure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.report.data_text import print_line, printable
from unstall.report.text import print_clean

if TYPE_CHECKING:
    from rich.console import Console

COLOUR = {"refuses": "bold red", "warns": "yellow", "unknown": "cyan", "fits": "green"}


def show_preflight(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in plain["checks"]:
        reason = Text(printable(row["reason"]), style="dim" if row["answer"] == "fits" else "")
        table.add_row(Text(row["answer"], style=COLOUR[row["answer"]]), row["check"], reason)
        if row["cure"]:
            table.add_row("", "", Text(f"do: {printable(row['cure'])}", style="bold"))
    print_clean(out, table)
    print_line(out, Text.from_markup(summary(plain)))


def summary(plain: dict[str, Any]) -> str:
    """One line, with rich's marks for colour."""
    words = {"refuses": "refused", "warns": "with a warning", "unknown": "not known", "fits": "fit"}
    told = [f"[{COLOUR[kind]}]{count} {words[kind]}[/]" for kind, count in plain["counts"].items() if count]
    return f"preflight: {', '.join(told)} ({plain['seconds']:.1f} s)"
