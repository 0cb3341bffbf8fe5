"""Work that is counted: how far it is before each thing, and all of them at its end."""

from __future__ import annotations

from unstall.base.console import with_progress


def test_each_thing_is_counted_when_it_is_done() -> None:
    rows: list[tuple[str, int, int]] = []
    seen = [
        (thing, len(rows)) for thing in with_progress("ab", "reading", lambda doing, done, of: rows.append((doing, done, of)))
    ]
    assert seen == [("a", 1), ("b", 2)]
    assert rows == [("reading", 0, 2), ("reading", 1, 2), ("reading", 2, 2)]


def test_where_nobody_looks_nothing_is_counted() -> None:
    assert list(with_progress([1, 2], "reading", None)) == [1, 2]
