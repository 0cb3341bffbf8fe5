"""A repair on a terminal: what happened, the evidence, what is changed, which attempt this is; or that there is no help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import grid, print_clean
from unstall.report.terminal.story import changes, from_where

if TYPE_CHECKING:
    from rich.console import Console


def show_newest(story: dict[str, Any], out: Console) -> None:
    if story["repair_failed"] is not None:
        show_end(story["repair_failed"], out)
    elif story["repairs"]:
        show(story["repairs"][-1], out)


def show(repair: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    table = grid()
    number = f"{repair['attempt']} of at most {repair['max_attempts']}" if repair["attempt"] else "before the first step"
    table.add_row(Text("repair", style="bold yellow"), Text(f"{number}: {repair['remedy']}", style="bold"))
    table.add_row("happened", Text(repair["happened"]))
    for index, claim in enumerate(repair["evidence"]):
        table.add_row("evidence" if index == 0 else "", Text("· " + claim))
    if repair["change"]:
        table.add_row("changed", Text(changes(repair), style="bold"))
    table.add_row("why", Text(repair["why"]))
    if repair["attempt"]:
        table.add_row("goes on", Text(f"{from_where(repair)}; it has helped when {repair['verify']}"))
    table.add_row("", Text(f"more: unstall explain {repair['remedy']}", style="dim"))
    print_clean(out, table)


def show_end(end: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    table = grid()
    table.add_row(
        Text("ended", style="bold red"), Text(f"{end['cause']} in step {end['step']:,}: it cannot be helped", style="bold")
    )
    table.add_row("happened", Text(end["happened"]))
    for index, claim in enumerate(end["evidence"]):
        table.add_row("evidence" if index == 0 else "", Text("· " + claim))
    table.add_row("why", Text(end["why"]))
    if end["advice"]:
        table.add_row("do", Text(end["advice"]))
    table.add_row("again", Text(end["command"]))
    print_clean(out, table)
