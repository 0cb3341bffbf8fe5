"""What was imported, on a terminal: the weights of a file, or the configuration of another tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import make_printable, print_clean, print_line
from unstall.base.formatting import format_size

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
            table.add_row(Text(words, colour), f"{group['count']:,}", Text(make_printable(group["why"])), Text(_names(group)))
    print_clean(out, table)
    for note in plain["notes"]:
        print_line(out, Text(f"note: {note}"))
    settings = ", ".join(f"{key} {value:g}" for key, value in plain["settings"].items())
    print_line(out, Text(f"{plain['out']}: {plain['variant']}, {settings}, from {make_printable(plain['file'])}, {plain['is']}"))
    if plain["holds"] != "detector":
        what = "Its heads begin" if plain["holds"] == "backbone" else "The outputs of its classes begin"
        print_line(out, Text(f"{what} fresh: train it before it is used."))


def _names(group: dict[str, Any]) -> str:
    more = f" and {group['count'] - NAMES} more" if group["count"] > NAMES else ""
    return make_printable(", ".join(group["names"][:NAMES])) + more


def show_seen(plain: dict[str, Any], out: Console, lists_tensors: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    if lists_tensors:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("tensor", "shape", "kind"):
            table.add_column(name)
        for row in plain["tensors"]:
            table.add_row(Text(make_printable(row["name"])), "×".join(map(str, row["shape"])) or "one number", row["kind"])
        print_clean(out, table)
    head = f"{make_printable(plain['file'])}: written by {plain['written_by']}, {len(plain['tensors']):,} tensors"
    print_line(out, Text(f"{head}, {plain['numbers']:,} numbers, {format_size(plain['bytes'])}"))
    if plain["description"]:
        text = plain["description"]
        source = f", from {make_printable(text['source'])}" if text["source"] else ""
        print_line(out, Text(f"{text['variant'] or text['detector']}, holds: {text['holds']}{source}"))
        if text["class_names"]:
            print_line(out, Text(make_printable(f"classes: {', '.join(text['class_names'])}")))
    for row in plain["fits"]:
        print_line(out, Text(f"fits {row['variant']}: {row['matched']} of {row['total']} tensors, as {row['as']}"))
    if not plain["fits"]:
        print_line(out, Text("fits no detector here"))
    for note in plain["notes"]:
        print_line(out, Text(f"note: {note}"))


# What became of another tool's configuration, on a terminal: all that is not as it was, by its line.


NEEDED = frozenset({"data", "label_map", "val_data"})  # without which no training begins
COLOUR = {"carried over": "green", "changed": "yellow", "left out": "cyan", "unknown": "red"}


def show_imported_config(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("line", "field", "", "as, and why"):
        table.add_column(name, justify="right" if name == "line" else "left", overflow="fold", no_wrap=name in {"line", ""})
    for (became, result), rows in group_fields(plain["fields"]).items():
        names = ", ".join(f"{row['field'].rpartition('.')[2]}: {row['value']}" for row in rows[:NAMES])
        more = f" and {len(rows) - NAMES} more" if len(rows) > NAMES else ""
        table.add_row(
            str(rows[0]["line"]),
            Text(make_printable(names) + more),
            Text(became, COLOUR[became]),
            Text(make_printable(result), "dim"),
        )
    print_clean(out, table)
    counted = ", ".join(f"{count} {became}" for became, count in plain["count"].items() if count)
    print_line(out, Text(make_printable(f"{plain['file']}: {plain['feature_extractor']} became {plain['model']}: {counted}")))
    for remark in plain["remarks"]:
        print_line(out, Text(make_printable(f"note: {remark}"), "yellow"))
    for each in plain["to_set"]:
        stands = f" (now {each['value']})" if each["value"] else ""
        print_line(out, Text(make_printable(f"to be set: {each['setting']}{stands}: {each['why']}"), "bold yellow"))
    print_line(out, Text(f"{plain['out']} was written, and what became of every field to {plain['report']}."))
    first = "Next" if all(each["setting"] not in NEEDED for each in plain["to_set"]) else "Next, once the paths are set"
    print_line(out, Text(f"{first}: unstall train --config {plain['out']}"))


def group_fields(fields: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Those that are not as they were, by what became of them and why: one reason often holds for many."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in fields:
        if row["became"] != "carried over":
            text = ": ".join(part for part in (row["to"], row["why"]) if part)
            groups.setdefault((row["became"], text), []).append(row)
    return groups
