"""What became of another tool's configuration, on a terminal: all that is not as it was, by its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import print_clean, print_line, printable

if TYPE_CHECKING:
    from rich.console import Console

NEEDED = frozenset({"data", "label_map", "val_data"})  # without which no training begins
NAMES = 3  # of fields with the same reason
COLOUR = {"carried over": "green", "changed": "yellow", "left out": "cyan", "unknown": "red"}


def show_imported(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("line", "field", "", "as, and why"):
        table.add_column(name, justify="right" if name == "line" else "left", overflow="fold", no_wrap=name in {"line", ""})
    for (became, told), rows in group_fields(plain["fields"]).items():
        names = ", ".join(f"{row['field'].rpartition('.')[2]}: {row['value']}" for row in rows[:NAMES])
        more = f" and {len(rows) - NAMES} more" if len(rows) > NAMES else ""
        table.add_row(
            str(rows[0]["line"]), Text(printable(names) + more), Text(became, COLOUR[became]), Text(printable(told), "dim")
        )
    print_clean(out, table)
    counted = ", ".join(f"{count} {became}" for became, count in plain["count"].items() if count)
    print_line(out, Text(printable(f"{plain['file']}: {plain['feature_extractor']} became {plain['model']}: {counted}")))
    for remark in plain["remarks"]:
        print_line(out, Text(printable(f"note: {remark}"), "yellow"))
    for each in plain["to_set"]:
        stands = f" (now {each['value']})" if each["value"] else ""
        print_line(out, Text(printable(f"to be set: {each['setting']}{stands}: {each['why']}"), "bold yellow"))
    print_line(out, Text(f"{plain['out']} was written, and what became of every field to {plain['report']}."))
    first = "Next" if all(each["setting"] not in NEEDED for each in plain["to_set"]) else "Next, once the paths are set"
    print_line(out, Text(f"{first}: unstall train --config {plain['out']}"))


def group_fields(fields: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Those that are not as they were, by what became of them and why: one reason often holds for many."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in fields:
        if row["became"] != "carried over":
            told = ": ".join(part for part in (row["to"], row["why"]) if part)
            groups.setdefault((row["became"], told), []).append(row)
    return groups
