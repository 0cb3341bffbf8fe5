"""What was found in a data set, on a terminal: a table of problems, the gravest first, with the first examples of each."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from unstall.base.console import create_console, make_printable, print_clean, print_line
from unstall.base.formatting import describe_data_set, format_count
from unstall.data.check.defects import place_defect

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

COLOUR = {"error": "bold red", "warning": "yellow", "info": "cyan"}
EXAMPLES = 3  # of each problem
CLASSES = 20
OUTLIERS = 6
SPREADS = {
    "boxes_per_image": "boxes in an image",
    "image_width": "image width",
    "image_height": "image height",
    "box_width": "box width",
    "box_height": "box height",
    "box_share_of_image": "box, share of image",
    "aspect_ratio": "width over height",
}


def show_check(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    if plain["problems"]:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=True, header_style="dim")
        for name, justify in (("", "left"), ("problem", "left"), ("count", "right"), ("first examples", "left")):
            table.add_column(name, justify=justify, no_wrap=name != "first examples")  # type: ignore[arg-type]
        for problem in plain["problems"]:
            severity = Text(problem["severity"], style=COLOUR[problem["severity"]])
            table.add_row(severity, problem["problem"], f"{problem['count']:,}", Text(_examples(problem)))
        print_clean(out, table)
    print_line(out, Text.from_markup(format_summary(plain)))


def _examples(problem: dict[str, Any]) -> str:
    shown = [f"{place_defect(finding)} {make_printable(finding['message'])}" for finding in problem["findings"][:EXAMPLES]]
    more = problem["count"] - len(shown)
    return "\n".join([*shown, f"and {more:,} more"] if more else shown)


def format_summary(plain: dict[str, Any]) -> str:
    """One line, with rich's marks for colour."""
    counts = {severity: sum(row["count"] for row in plain["problems"] if row["severity"] == severity) for severity in COLOUR}
    parts = [f"[{COLOUR[severity]}]{format_count(count, severity)}[/]" for severity, count in counts.items() if count]
    found = ", ".join(parts) or "[green]nothing wrong was found[/]"
    size = describe_data_set(plain["images"], plain["boxes"], len(plain["classes"]))
    if plain["images"] and not plain["images_looked_at"]:
        size += ", the images themselves not looked at"
    return f"{plain['format']}: {size}: {found} ({plain['seconds']:.1f} s)"


def show_fixed(plain: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    left = sum(row["count"] for row in plain["left_as_it_was"])
    lost = "".join(f", {count:,} {what} left out" for what, count in plain["not_held_by_the_format"].items())
    changed = f"{format_count(len(plain['changes']), 'change')}, listed in changes.txt"
    print_line(out, Text(f"{plain['copy']}: {changed}; {format_count(left, 'finding')} left as they were{lost}"))


def show_stats(plain: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    splits = ", ".join(f"{name or 'no split'} {count:,}" for name, count in plain["splits"].items())
    empty = f", {plain['images_without_boxes']:,} without boxes" if plain["images_without_boxes"] else ""
    print_line(out, Text(f"{plain['format']}: {plain['images']:,} images ({splits}{empty}), {plain['boxes']:,} boxes\n"))
    classes = _figures(out)
    for name in ("class", "boxes", "images", "median side"):
        _add_column(classes, name, is_first=name == "class")
    for row in plain["classes"][:CLASSES]:
        side = "" if row["median_side"] is None else f"{row['median_side']:,.0f} px"
        classes.add_row(row["class"], f"{row['boxes']:,}", f"{row['images']:,}", side)
    if len(plain["classes"]) > CLASSES:
        classes.add_row(f"and {len(plain['classes']) - CLASSES} more", "", "", "")
    print_clean(out, classes)
    print_clean(out, _spreads(plain, out))
    sizes = ", ".join(f"{name} {row['share']:.0%}" for name, row in plain["by_size"].items())
    print_line(out, Text(f"by size: {sizes} (COCO's limits: 32² and 96² pixels)"))
    for row in plain["outliers"][:OUTLIERS]:
        print_clean(
            out, Text(f"far from the others: {row['what']} {row['value']:,} {row['unit']}".rstrip() + f", {row['place']}")
        )
    if plain["anchors"]:
        print_clean(out, _anchors(plain, out))
    if len(plain["anchors"]) == 1:
        better = ", ".join(f"{width:.0f}×{height:.0f}" for width, height in plain["anchors"][0]["better"])
        print_line(out, Text(f"anchors that would fit better, in pixels of the resized image: {better}"))


def _figures(out: Console, wide: int = 80) -> Table:
    """Columns stand apart from so many characters of width on."""
    from rich.table import Table

    return Table(box=None, padding=(0, 3 if out.width >= wide else 1, 0, 0), header_style="dim")


def _add_column(table: Table, name: str, is_first: bool = False) -> None:
    """On a narrow terminal the name in the first column is broken, never a number."""
    if is_first:
        table.add_column(name, overflow="fold", min_width=14)
    else:
        table.add_column(name, justify="right", no_wrap=True)


def _spreads(plain: dict[str, Any], out: Console) -> Table:
    columns = ("mean", "0%", "5%", "50%", "95%", "100%")
    table = _figures(out)
    _add_column(table, "", is_first=True)
    for name in columns:
        _add_column(table, {"0%": "least", "50%": "median", "100%": "most"}.get(name, name))
    for key, name in SPREADS.items():
        if plain[key]:
            table.add_row(name, *(f"{plain[key][column]:,.4g}" for column in columns))
    return table


def _anchors(plain: dict[str, Any], out: Console) -> Table:
    table = _figures(out, wide=100)
    for name in ("anchors of", "fit", "small", "medium", "large", "shape", "better shape"):
        _add_column(table, name, is_first=name == "anchors of")
    for row in plain["anchors"]:
        by_size = (
            f"{row['recall_by_size'][size]:.0%}" if size in row["recall_by_size"] else "" for size in ("small", "medium", "large")
        )
        table.add_row(
            row["detector"], f"{row['recall']:.1%}", *by_size, f"{row['own_mean_iou']:.2f}", f"{row['better_mean_iou']:.2f}"
        )
    table.caption = (
        "fit: boxes with an anchor of IoU 0.5, after the detector's own resize; shape: mean IoU of width and height alone"
    )
    table.caption_justify = "left"
    return table


# What was written by `unstall data convert` and `split`: how much, and what the format could not hold.


def show(done: dict[str, Any]) -> None:
    from rich.text import Text

    out = create_console()
    splits = ", ".join(f"{name or 'undivided'} {count:,}" for name, count in done["splits"].items())
    holds = describe_data_set(done["images"], done["boxes"], len(done["classes"]))
    out.print(Text(f"{holds} ({splits})"), soft_wrap=True)
    out.print(Text(f"{done['from']['format']} → {done['to']['format']}: {done['to']['path']}"), soft_wrap=True)
    for what, count in done["lost"].items():
        out.print(
            Text(f"not kept, since {done['to']['format']} cannot hold it: {count:,} {what}", style="yellow"), soft_wrap=True
        )
    left_out = done["images_without_annotation"]
    if left_out:
        sentence = "1 image has no annotation and is" if left_out == 1 else f"{left_out:,} images have no annotation and are"
        names = f"`unstall data check {shlex.quote(done['from']['path'])}` says which"
        out.print(Text(f"{sentence} not in the copy; {names}", style="yellow"), soft_wrap=True)
    found = sum(done["findings"].values())
    if found:
        kinds = ", ".join(f"{name} {count:,}" for name, count in done["findings"].items())
        out.print(Text(f"{found:,} things met while reading ({kinds})", style="yellow"), soft_wrap=True)
