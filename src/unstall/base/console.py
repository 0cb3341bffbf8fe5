"""Where the output goes: a terminal of today, a file, or something that knows fewer characters."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from unstall.base.formatting import strip_codes

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text


def print_what_the_stream_has() -> None:
    """Where output is no UTF-8 (an old locale, PYTHONIOENCODING), a character that it lacks becomes a `?`, and no error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def create_console(name: str = "stdout") -> Console:
    """On `stdout` or `stderr`; on nothing, if the stream was closed before we began."""

    stream: IO[str] | None = getattr(sys, name)
    if stream is None:
        return CleanConsole(quiet=True)
    return CleanConsole(file=stream, highlight=False, soft_wrap=False, width=_width(stream))


def _width(stream: IO[str]) -> int | None:
    columns = os.environ.get("COLUMNS", "")
    return None if stream.isatty() else int(columns) if columns.isdecimal() else 100


def print_clean(out: Console, shown: RenderableType) -> None:
    """Without the blanks that fill up a table's lines: people paste this into mails and issues."""
    if out.quiet:
        return
    with out.capture() as captured:
        out.print(shown)
    out.file.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))
    out.file.flush()


def create_grid() -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True, min_width=8)
    table.add_column(overflow="fold")
    return table


def print_line(out: Console, line: Text) -> None:
    """As long as it is: a path that is broken in two cannot be copied."""
    if not out.quiet:
        out.print(line, soft_wrap=True)


def make_printable(text: str) -> str:
    """Names of files come from strangers: none may move the cursor or colour the terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)


# A console that prints text and its own colours, and no codes that stand in the text: a watched program may have printed it.


class CleanConsole(Console):
    """What `text.cleaned` has not met on its way."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """All that is printed comes through here, cell by cell, before tables are filled up: they stay straight."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(strip_codes(segment.text), segment.style)


# How far long work is: a bar on standard error, on a terminal only.


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
