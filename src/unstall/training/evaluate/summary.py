"""How well a detector does, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import is_printable, print_clean, print_line
from unstall.base.formatting import format_count, shorten

if TYPE_CHECKING:
    from rich.console import Console

CLASSES = 30
MISTAKEN = 6
FIGURES = {
    "AP": ("AP", "IoU 0.50 to 0.95"),
    "AP50": ("AP50", "IoU 0.50"),
    "AP75": ("AP75", "IoU 0.75"),
    "AP_small": ("AP small", "objects below 32² pixels"),
    "AP_medium": ("AP medium", "32² to 96²"),
    "AP_large": ("AP large", "above 96²"),
    "AR_1": ("AR 1", "recall with one detection of a class in an image"),
    "AR_10": ("AR 10", "with ten"),
    "AR_100": ("AR 100", "with a hundred"),
    "AR_small": ("AR small", "objects below 32² pixels"),
    "AR_medium": ("AR medium", "32² to 96²"),
    "AR_large": ("AR large", "above 96²"),
}


def show_score(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 3, 0, 0), show_header=False)
    for key, (name, meaning) in FIGURES.items():
        table.add_row(name, format_number(plain["figures"][key]), Text(meaning, "dim"))
    print_clean(out, table)
    classes = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
    for name in ("class", "objects", "AP", "AP50", "AP75", "AR 100"):
        classes.add_column(name, justify="left" if name == "class" else "right")
    for row in plain["classes"][:CLASSES]:
        figures = (format_number(row[key]) for key in ("AP", "AP50", "AP75", "AR_100"))
        classes.add_row(Text(is_printable(row["class"])), f"{row['objects']:,}", *figures)
    if len(plain["classes"]) > CLASSES:
        classes.add_row(f"and {len(plain['classes']) - CLASSES} more")
    print_clean(out, classes)
    for line in format_mistakes(plain["confusion"]):
        print_line(out, Text(is_printable(line)))
    for each in plain["skipped"]:
        print_line(out, Text(f"not read: {is_printable(each['example'])}: {is_printable(each['why'])}"))
    if plain["classes_unknown_to_the_detector"]:
        unknown = ", ".join(plain["classes_unknown_to_the_detector"])
        print_line(out, Text(is_printable(f"the detector does not know: {unknown}")))
    print_line(out, Text(f"{format_count(plain['images'], 'image')} of {plain['data']}, on {plain['backend']}"))


def format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def format_mistakes(confusion: dict[str, Any]) -> list[str]:
    """What is most often taken for something else."""
    names, table = [shorten(name) for name in confusion["classes"]], confusion["table"]
    background = len(names) - 1
    pairs = [
        (count, row, column) for row, counts in enumerate(table) for column, count in enumerate(counts) if row != column and count
    ]
    lines = []
    for count, row, column in sorted(pairs, key=lambda pair: -pair[0])[:MISTAKEN]:
        if column == background:
            lines.append(f"{count:,} × {names[row]} not found")
        elif row == background:
            lines.append(f"{count:,} × {names[column]} where there is none")
        else:
            lines.append(f"{count:,} × {names[row]} taken for {names[column]}")
    return lines
