"""Numbers, sizes, times and names as a person would say them, and texts without the codes of terminals."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from unstall.base.redact.text import redact_text

_CODES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, and where the cursor goes
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # titles of windows, links
    r"|\x1b[()*+][0-9A-Za-z]"  # sets of characters
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def format_count(count: int, one: str, many: str = "") -> str:
    """'1 class', '1,200 classes'."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def format_rate(value: float) -> str:
    """'1,200', '37', '0.4': a small one is never nothing."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def describe_data_set(images: int, boxes: int, classes: int) -> str:
    """'364 images, 4,888 boxes, 3 classes'."""
    return ", ".join(
        (format_count(images, "image"), format_count(boxes, "box", "boxes"), format_count(classes, "class", "classes"))
    )


# Names of classes in a line: they come from the data, may be long and hold anything.


SHOWN, MAX_LETTERS = 8, 30


def shorten(name: str) -> str:
    plain = "".join(each if each.isprintable() else "·" for each in name)
    return plain if len(plain) <= MAX_LETTERS else f"{plain[:MAX_LETTERS]}…"


def format_some(classes: Sequence[str]) -> str:
    """'cat, dog', 'a, b, c, d, e, f, g, h and 72 more', 'none'."""
    more = f" and {len(classes) - SHOWN:,} more" if len(classes) > SHOWN else ""
    return ", ".join(map(shorten, classes[:SHOWN])) + more if classes else "none"


def strip_codes(words: str) -> str:
    """Without the codes by which programs colour a terminal: elsewhere they are rubbish."""
    return _CODES.sub("", words)


def clean_text(plain: Any) -> Any:
    """Plain data with all its texts so: before they are laid out, as half a code is none that could be known."""
    if isinstance(plain, str):
        return redact_text(strip_codes(plain))
    if isinstance(plain, dict):
        return {key: clean_text(value) for key, value in plain.items()}
    return [clean_text(value) for value in plain] if isinstance(plain, list) else plain


def format_duration(seconds: float) -> str:
    """'40 s', '1 min 30 s', '3 h 20 min'."""
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def format_size(count: float) -> str:
    """'900 B', '12 KiB', '1.31 GiB', '230 MiB', '2 TiB'."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(count) < 1000 or unit == "TiB":
            break
        count /= 1024
    return f"{count:,.0f} {unit}" if unit == "B" or abs(count) >= 100 else f"{count:.3g} {unit}"


def format_approximate_duration(seconds: float) -> str:
    """40 s, 12 min, 3.5 h, 2 days."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} h" if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"


# The known name that a mistyped one probably meant.


CUTOFF = 0.6  # how alike two names must be, as difflib measures it: 0 to 1


def find_closest_names(name: str, known: Iterable[str], count: int, cutoff: float = CUTOFF) -> list[str]:
    """The most similar one first; empty where none is similar."""
    return difflib.get_close_matches(name, list(known), n=count, cutoff=cutoff)


def find_closest_name(name: str, known: Iterable[str], cutoff: float = CUTOFF) -> str:
    """Empty where none is similar."""
    return next(iter(find_closest_names(name, known, 1, cutoff)), "")


def suggest_closest(name: str, known: Iterable[str], cutoff: float = CUTOFF) -> str:
    """A sentence to append to an error message, with the space before it: " Did you mean 'epochs'?". Empty where none is near."""
    near = find_closest_name(name, known, cutoff)
    return f" Did you mean '{near}'?" if near else ""
