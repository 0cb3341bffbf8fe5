"""The experiments of `unstall confirm`: what each showed, or why it could not be made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.journal.events import ExperimentEnded

if TYPE_CHECKING:
    from rich.console import Console


def as_plain(event: ExperimentEnded) -> dict[str, Any]:
    return {"experiment": event.experiment, "seconds": event.seconds, "facts": event.facts, "failed": event.failed or None}


def show(results: list[ExperimentEnded], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    if not results:
        out.print("No experiment can speak about these verdicts. Ask for one with --experiment.")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("experiment", "time", "seen"):
        table.add_column(name, overflow="fold")
    for event in results:
        seen = event.failed or ", ".join(
            f"{key} {_shown(value)}" for key, value in event.facts.items() if not isinstance(value, list)
        )
        table.add_row(event.experiment, f"{event.seconds:.1f} s", Text(seen, style="yellow" if event.failed else ""))
    out.print(table)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
