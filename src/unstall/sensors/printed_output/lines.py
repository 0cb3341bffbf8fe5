"""Bytes, cut anywhere, to the lines that a person would see: without escape codes, one for each state of a progress bar."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LINE_BYTES = 2048  # a longer one is no line of progress: it is passed over, and never held whole
_CODES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x00-\x08\x0e-\x1f\x7f]")
CANDIDATE = re.compile(
    rb"[Ll][Oo][Ss][Ss]|[Ss][Tt][Ee][Pp]|[Ee][Pp][Oo][Cc][Hh]|[Ii][Tt][Ee][Rr]|\d\s?/\s?(?:\d|Unk)|\dit \[|\savg\b|[Bb]atch"
)
_ENDS = re.compile(rb"[\r\n\x08]+")  # a bar is drawn anew after a carriage return, or after as many backspaces


class LineSplitter:
    def __init__(self) -> None:
        self._rest = b""
        self._is_too_long = False  # what has begun of the present line was thrown away

    def feed(self, data: bytes) -> Iterator[str]:
        """Of the lines that are complete now, those in which something of a training may stand: most say nothing of one."""
        pieces = _ENDS.split(data)
        pieces[0] = self._rest + pieces[0]
        for piece in pieces[:-1]:
            is_whole, self._is_too_long = not self._is_too_long, False
            if is_whole and len(piece) <= MAX_LINE_BYTES and CANDIDATE.search(piece) is not None:
                yield clean_line(piece)
        self._rest = pieces[-1]
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest, self._is_too_long = b"", True

    def skip(self) -> None:
        """Bytes are missing here: what comes up to the next line end is the rest of some line."""
        self._rest, self._is_too_long = b"", True

    def finish(self) -> Iterator[str]:
        """Nothing more will come: the last line needs no end."""
        if self._rest and not self._is_too_long and CANDIDATE.search(self._rest) is not None:
            yield clean_line(self._rest)
        self._rest, self._is_too_long = b"", False


def clean_line(line: bytes) -> str:
    return _CODES.sub(b"", line).decode("utf-8", "replace").rstrip()
