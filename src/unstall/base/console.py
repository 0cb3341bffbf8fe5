"""Where the output goes: a terminal of today, a file, or something that knows fewer characters."""

from __future__ import annotations

import sys
from io import TextIOWrapper


def print_what_the_stream_has() -> None:
    """Where output is no UTF-8 (an old locale, PYTHONIOENCODING), a character that it lacks becomes a `?`, and no error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
