"""Where the output goes: a terminal of today, a file, or something that knows fewer characters."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING

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


def is_printable(text: str) -> str:
    """Names of files come from strangers: none may move the cursor or colour the terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)


# A console that prints text and its own colours, and no codes that stand in the text: a watched program may have printed it.


class CleanConsole(Console):
    """What `text.cleaned` has not met on its way."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """All that is printed comes through here, cell by cell, before tables are filled up: they stay straight."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(strip_codes(segment.text), segment.style)
