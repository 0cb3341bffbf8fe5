"""A console that prints text and its own colours, and no codes that stand in the text: a watched program may have printed it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from unstall.base.formatting import without_codes


class CleanConsole(Console):
    """What `text.cleaned` has not met on its way."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """All that is printed comes through here, cell by cell, before tables are filled up: they stay straight."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(without_codes(segment.text), segment.style)
