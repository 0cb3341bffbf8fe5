"""What changed since the last good run of the same script or settings, where that explains a failure; where no cause is known,
what was changed by hand. Else nothing."""

from __future__ import annotations

import re
from typing import Any

from unstall.compare import changed_lines, facts
from unstall.compare.attribution import Comparison, compared
from unstall.compare.changed_lines import Change
from unstall.compare.last_good import last_good_like
from unstall.compare.named_files import paired_sources
from unstall.runs import RunFolder

MOST_LINES = 4
BAD = frozenset({"failed", "killed", "stuck", "slow"})
BY_HAND = frozenset({"command", "setting", "source", "version"})
FILES = frozenset({"sources", "named_files"})  # sections
NEAR_LINES = 3  # a call may stand over several lines


def told(run: RunFolder, story: dict[str, Any]) -> dict[str, Any] | None:
    """`run`: the last good one; `lines`: what changed since then and explains the failure. None: nothing can be said."""
    if story["state"] not in BAD and not any(verdict["effect"] in {"stops", "spoils"} for verdict in story["verdicts"]):
        return None
    good = last_good_like(run)
    if good is None:
        return None
    from unstall.compare.record import record_of

    before, after = record_of(good), _as_told(record_of(run), story)
    lines = explained_lines(compared(before, after), before, after, story)
    return {"run": good.name, "lines": lines} if lines else None


def _as_told(record: dict[str, Any], story: dict[str, Any]) -> dict[str, Any]:
    """With how it ended, as the story has it: the record may have been read before the end was written."""
    state = story["state"]
    outcome = {"killed": "failed", "slow": "stuck"}.get(state, state)
    cause = story["verdicts"][0]["cause"] if story["verdicts"] else ""
    return {**record, "run": {**facts.section(record, "run"), "outcome": outcome, "cause": cause}}


def explained_lines(comparison: Comparison, before: dict[str, Any], after: dict[str, Any], story: dict[str, Any]) -> list[str]:
    channels = facts.failed_of(after)
    lines = [each.told for each in comparison.explanations if each.channel in channels]
    return _first(lines or _where_it_changed(before, after, story)) or _what_was_changed(comparison, story)


def _first(lines: list[str]) -> list[str]:
    """As many as are read; how many are left out is said."""
    return lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], f"and {len(lines) - MOST_LINES + 1} more"]


def _where_it_changed(before: dict[str, Any], after: dict[str, Any], story: dict[str, Any]) -> list[str]:
    """The verdict's own line is one that changed."""
    changes = changed_lines.changes(*paired_sources(before, after))
    places = [place for verdict in story["verdicts"] if (place := _place(verdict.get("where")))]
    hit = [change for change in changes if any(_is_at(change, *place) for place in places)]
    return [f"{change.where} changed: {change.words}" for change in hit]


def _what_was_changed(comparison: Comparison, story: dict[str, Any]) -> list[str]:
    """Of a program that failed by an error of its own: what its user did otherwise this time."""
    if story["verdicts"] or story["state"] != "failed":
        return []
    by_hand = [each for each in comparison.differences if each.name in BY_HAND or each.section in FILES or each.lines]
    done = [each.told for each in by_hand]
    more = len(done) - MOST_LINES + 1
    which = "which of these it was is not known"
    return done if len(done) < 2 else [*done[: MOST_LINES - 1], f"and {more} more; {which}" if more > 0 else which]


def _place(where: str | None) -> tuple[str, int] | None:
    match = re.match(r"(.+?):(\d+)", where or "")
    return (match[1], int(match[2])) if match else None


def _is_at(change: Change, file: str, line: int) -> bool:
    same = file.endswith(change.file) or change.file.endswith(file)
    return same and change.line - NEAR_LINES < line < change.line + max(1, len(change.after)) + NEAR_LINES
