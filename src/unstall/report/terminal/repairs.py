"""Repairs and experiments on a terminal.

Of a repair: what happened, the evidence, what is changed, which attempt this is; or that there is no help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import create_grid, print_clean
from unstall.journal.events import ExperimentEnded
from unstall.report.terminal.story import format_changes, format_resume_place

if TYPE_CHECKING:
    from rich.console import Console


def show_newest(story: dict[str, Any], out: Console) -> None:
    if story["repair_failed"] is not None:
        show_end(story["repair_failed"], out)
    elif story["repairs"]:
        show(story["repairs"][-1], out)


def show(repair: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    table = create_grid()
    number = f"{repair['attempt']} of at most {repair['max_attempts']}" if repair["attempt"] else "before the first step"
    table.add_row(Text("repair", style="bold yellow"), Text(f"{number}: {repair['remedy']}", style="bold"))
    table.add_row("happened", Text(repair["happened"]))
    for index, claim in enumerate(repair["evidence"]):
        table.add_row("evidence" if index == 0 else "", Text("· " + claim))
    if repair["change"]:
        table.add_row("changed", Text(format_changes(repair), style="bold"))
    table.add_row("why", Text(repair["why"]))
    if repair["attempt"]:
        table.add_row("goes on", Text(f"{format_resume_place(repair)}; it has helped when {repair['verify']}"))
    table.add_row("", Text(f"more: unstall explain {repair['remedy']}", style="dim"))
    print_clean(out, table)


def show_end(end: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    table = create_grid()
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


# The experiments of `unstall confirm`: what each showed, or why it could not be made.


def as_plain(event: ExperimentEnded) -> dict[str, Any]:
    return {"experiment": event.experiment, "seconds": event.seconds, "facts": event.facts, "failed": event.failed or None}


def show_experiments(results: list[ExperimentEnded], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    if not results:
        out.print("No experiment can speak about these verdicts. Ask for one with --experiment.")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("experiment", "time", "seen"):
        table.add_column(name, overflow="fold")
    for event in results:
        summary = event.failed or ", ".join(
            f"{key} {_shown(value)}" for key, value in event.facts.items() if not isinstance(value, list)
        )
        table.add_row(event.experiment, f"{event.seconds:.1f} s", Text(summary, style="yellow" if event.failed else ""))
    out.print(table)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
