"""The ids by which entries of a COCO file name each other. Tools disagree on quotes: one writes "7" where another refers to 7."""

from __future__ import annotations

import re
from collections.abc import Iterable

Id = int | float | str  # 1.0 for 1, as pandas writes it, is the same key
WHOLE_NUMBER = re.compile(r"\s*([+-]?\d{1,18})(?:\.0*)?\s*")


def as_number(key: Id) -> Id:
    """The number that a text is; any other text, and a number, as it stands."""
    found = WHOLE_NUMBER.fullmatch(key) if isinstance(key, str) else None
    return int(found[1]) if found else key


class Places:
    """Where the entry with an id is: by the very id, else by the number that it is, where one entry alone has that number."""

    def __init__(self, places: Iterable[tuple[Id, int]]) -> None:
        self._exact = dict(places)
        self._by_number: dict[Id, int] = {}
        twice = set()
        for key, place in self._exact.items():
            number = as_number(key)
            if self._by_number.setdefault(number, place) != place:
                twice.add(number)
        for number in twice:
            del self._by_number[number]

    def get(self, key: Id, without: int) -> int:
        found = self._exact.get(key)
        return self._by_number.get(as_number(key), without) if found is None else found
