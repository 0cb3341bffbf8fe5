"""What was found in a data set, on a terminal: a table of problems, the gravest first, with the first examples of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.report.text import print_clean

if TYPE_CHECKING:
    from rich.console import Console

COLOUR = {"breaks": "bold red", "harms": "yellow", "note": "cyan"}
EXAMPLES = 3  # of each problem


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
    print_clean(out, Text.from_markup(summary(plain)))


def _examples(problem: dict[str, Any]) -> str:
    shown = [f"{place(finding)} {finding['message']}" for finding in problem["findings"][:EXAMPLES]]
    more = problem["count"] - len(shown)
    return "\n".join([*shown, f"and {more:,} more"] if more else shown)


def place(finding: dict[str, Any]) -> str:
    """file:line of a finding, for a person to find it."""
    where = finding["file"] if finding["line"] is None else f"{finding['file']}:{finding['line']}"
    return f"{where}: {finding['field']}:" if finding["field"] else f"{where}:"


def summary(plain: dict[str, Any]) -> str:
    """One line, with rich's marks for colour."""
    counts = {severity: sum(row["count"] for row in plain["problems"] if row["severity"] == severity) for severity in COLOUR}
    looked = f"{plain['images']:,} images" if plain["images_looked_at"] else f"{plain['images']:,} images not looked at"
    words = {"breaks": "would break a run", "harms": "would harm it", "note": "to note"}
    told = [f"[{COLOUR[severity]}]{counts[severity]:,} {words[severity]}[/]" for severity in COLOUR if counts[severity]]
    found = ", ".join(told) or "[green]nothing wrong was found[/]"
    size = f"{looked}, {plain['boxes']:,} boxes, {len(plain['classes'])} classes"
    return f"{plain['format']}: {size}: {found} ({plain['seconds']:.1f} s)"


def show_fixed(told: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    left = sum(row["count"] for row in told["left_as_it_was"])
    lost = "".join(f", {count:,} {what} left out" for what, count in told["not_held_by_the_format"].items())
    changed = f"{len(told['changes']):,} changes, listed in changes.txt"
    print_clean(out, Text(f"{told['copy']}: {changed}; {left:,} findings left as they were{lost}"))
