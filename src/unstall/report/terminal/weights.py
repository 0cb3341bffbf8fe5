"""What a file of weights holds, and what was taken of it, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import print_clean, print_line, printable
from unstall.base.formatting import size

if TYPE_CHECKING:
    from rich.console import Console

NAMES = 3  # of each reason


def show_imported(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "tensors", "why", "which"):
        table.add_column(name, justify="right" if name == "tensors" else "left")
    table.add_row(Text("taken", "green"), f"{len(plain['taken']):,}", "", Text(f"{plain['numbers_taken']:,} numbers"))
    for kind, colour in (("left_out", "yellow"), ("new", "cyan")):
        for group in plain[kind]:
            words = "left out" if kind == "left_out" else "new"
            table.add_row(Text(words, colour), f"{group['count']:,}", Text(printable(group["why"])), Text(_names(group)))
    print_clean(out, table)
    for note in plain["notes"]:
        print_line(out, Text(f"note: {note}"))
    settings = ", ".join(f"{key} {value:g}" for key, value in plain["settings"].items())
    print_line(out, Text(f"{plain['out']}: {plain['variant']}, {settings}, from {printable(plain['file'])}, {plain['is']}"))
    if plain["holds"] != "detector":
        what = "Its heads begin" if plain["holds"] == "backbone" else "The outputs of its classes begin"
        print_line(out, Text(f"{what} fresh: train it before it is used."))


def _names(group: dict[str, Any]) -> str:
    more = f" and {group['count'] - NAMES} more" if group["count"] > NAMES else ""
    return printable(", ".join(group["names"][:NAMES])) + more


def show_seen(plain: dict[str, Any], out: Console, lists_tensors: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    if lists_tensors:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("tensor", "shape", "kind"):
            table.add_column(name)
        for row in plain["tensors"]:
            table.add_row(Text(printable(row["name"])), "×".join(map(str, row["shape"])) or "one number", row["kind"])
        print_clean(out, table)
    head = f"{printable(plain['file'])}: written by {plain['written_by']}, {len(plain['tensors']):,} tensors"
    print_line(out, Text(f"{head}, {plain['numbers']:,} numbers, {size(plain['bytes'])}"))
    if plain["description"]:
        told = plain["description"]
        source = f", from {printable(told['source'])}" if told["source"] else ""
        print_line(out, Text(f"{told['variant'] or told['detector']}, holds: {told['holds']}{source}"))
        if told["class_names"]:
            print_line(out, Text(printable(f"classes: {', '.join(told['class_names'])}")))
    for row in plain["fits"]:
        print_line(out, Text(f"fits {row['variant']}: {row['matched']} of {row['total']} tensors, as {row['as']}"))
    if not plain["fits"]:
        print_line(out, Text("fits no detector here"))
    for note in plain["notes"]:
        print_line(out, Text(f"note: {note}"))
