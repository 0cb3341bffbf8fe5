"""What a cause of an error that ended a program says, in one form: the user's line with its values, what else shows it, the
error."""

from __future__ import annotations

from unstall.diagnosis.errors.failures import Failure, Maker, UserLine
from unstall.diagnosis.verdict import Certainty, Evidence, Found, LineChange

MAX_VALUES = 4  # of a line, in a sentence


def found_in(
    failure: Failure,
    summary: str,
    actions: tuple[str, ...],
    claims: tuple[str, ...] = (),
    where: str | None = None,
    changes: tuple[LineChange | None, ...] = (),
    certainty: Certainty = Certainty.CERTAIN,
) -> Found:
    """`where` is the line that must change; without it, the innermost line of the user's own."""
    raised = failure.raised
    rows = [line_in_words(raised)] if raised is not None else []
    rows += [*claims, f"the error that ended it: {failure.text.line}"]
    return Found(
        certainty=certainty,
        summary=summary,
        evidence=tuple(Evidence(row, None, None, failure.events) for row in rows),
        actions=actions,
        where=where or (raised.where if raised is not None else None),
        changes=tuple(change for change in changes if change is not None),
    )


def line_in_words(line: UserLine) -> str:
    """train.py:43 in load: return a + b, with `a`: float32 tensor (3,), `b`: 5"""
    shown = [value for value in line.values if value.is_in_failing] or list(line.values)
    shown = sorted(shown, key=lambda value: not value.is_array)[:MAX_VALUES]
    values = ", ".join(value.text for value in (shown or line.arguments[:MAX_VALUES]))
    said = f"{line.place_in_words}: {line.code}" if line.code else line.place_in_words
    return f"{said}, with {values}" if values else said


def as_maker(line: UserLine) -> Maker:
    """The line itself, for a change of it."""
    return Maker("line", "", line.where, line.source, line.first, {}, line.folder)
