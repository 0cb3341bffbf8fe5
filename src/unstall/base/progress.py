"""How far long work is: a bar on standard error, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

# Called as progress("reading", 17, 400); 0 of 0 where it is not known how many there are.
Progress = Callable[[str, int, int], None]
Thing = TypeVar("Thing")


def with_progress(things: Sequence[Thing], doing: str, progress: Progress | None) -> Iterator[Thing]:
    """One after the other, each counted when it is done: the bar of what is over is full."""
    if progress is None:
        yield from things
        return
    for done, thing in enumerate(things):
        progress(doing, done, len(things))
        yield thing
    progress(doing, len(things), len(things))


@contextmanager
def show_progress() -> Iterator[Progress | None]:
    """None where nobody would see it: the work then need not count."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {}

        def advance(doing: str, done: int, of: int) -> None:
            if doing not in tasks:
                tasks[doing] = bar.add_task(doing, total=of or None)
            bar.update(tasks[doing], completed=done, total=of or None)

        yield advance
