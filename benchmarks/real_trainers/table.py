"""The results as a table of Markdown: a line for each trainer, with what is named at the first look and by now."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
HEAD = "| trainer | healthy | faults named at the first look | by now | not named |\n| --- | --- | --- | --- | --- |"


def make_table(rows: list[Row]) -> str:
    trainers = dict.fromkeys(f"{row['trainer']}; {row['versions']}" for row in rows)
    lines = [_line(name, [row for row in rows if f"{row['trainer']}; {row['versions']}" == name]) for name in trainers]
    return "\n".join([HEAD, *lines])


def _line(name: str, rows: list[Row]) -> str:
    """What was not looked at again counts by now as it was seen first."""
    first = {(row["case"], row["way"]): row for row in rows if row["look"] == "first"}
    newest = first | {(row["case"], row["way"]): row for row in rows if row["look"] != "first"}
    healthy = newest.get(("healthy", "run"))
    faults = {key: row for key, row in newest.items() if key[0] != "healthy"}
    missed = [f"`{case}` by {way}" for (case, way), row in faults.items() if not row["right"]]
    return (
        f"| {name} | {_healthy(healthy)} | {_count(first[key] for key in first if key[0] != 'healthy')}"
        f" | {_count(faults.values())} | {', '.join(missed)} |"
    )


def _healthy(row: Row | None) -> str:
    if row is None:
        return "not run"
    said = "no verdict" if row["right"] else f"`{'`, `'.join(row['named'])}`"
    printed, keys = row.get("printed") or {}, (("steps", "step"), ("epoch", "epoch"), ("loss", "last_loss"))
    unseen = [name for name, other in keys if row[name] is None and printed.get(other) is None]
    harm = "; ".join(row.get("harm") or [])
    return "; ".join([said, f"{', '.join(unseen)} not seen" if unseen else "seen", *([harm] if harm else [])])


def _count(rows: Any) -> str:
    looked = list(rows)
    with_place = [row for row in looked if row["where_right"] is not None]
    places = f", place {sum(bool(row['where_right']) for row in with_place)} of {len(with_place)}" if with_place else ""
    return f"{sum(bool(row['right']) for row in looked)} of {len(looked)}{places}"
