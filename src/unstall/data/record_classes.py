"""The classes of records: by a label map, or as they occur where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unstall.data.example import UNKNOWN_CLASS, Example, Origin
from unstall.data.labelmap import Item
from unstall.data.reading import Notes, quoted


class Classes:
    def __init__(self, items: Sequence[Item] | None, notes: Notes) -> None:
        self._items = items
        self._notes = notes
        self._by_name = {name: index for index, item in reversed(list(enumerate(items or ()))) for name in _names(item)}
        self._by_number = {item.number: index for index, item in enumerate(items or ())}
        self._met: dict[tuple[int | None, str], int] = {}  # label and text, where there is no label map

    def index(self, label: int | None, text: str, origin: Origin, example: str) -> int:
        """Without a label map, a number that is exchanged at the end for the true one."""
        if self._items is None:
            return self._met.setdefault((label, text), len(self._met)) if text or label is not None else UNKNOWN_CLASS
        if text in self._by_name:
            return self._by_name[text]
        if label in self._by_number and label is not None:
            if text:
                named = quoted(self._items[self._by_number[label]].shown_name)
                message = f"The class {quoted(text)} is not in the label map; its label {label} is {named} there, and is taken."
                self._notes.add("class_unknown", message, origin, example)
            return self._by_number[label]
        if label is None:
            self._notes.add("class_unknown", f"The class {quoted(text)} is not in the label map.", origin, example)
        else:
            numbers = sorted(self._by_number)
            expected = (
                f"one of the label map's {len(numbers)} ids, {numbers[0]} to {numbers[-1]}"
                if numbers
                else "an id of the label map"
            )
            self._notes.add("class_out_of_range", f"Expected {expected}. Received: {label}.", origin, example)
        return UNKNOWN_CLASS

    def finished(self, examples: Sequence[Example], file: str) -> tuple[tuple[str, ...], tuple[int, ...], list[Example]]:
        """Names, numbers, and the examples with the classes that these are."""
        if self._items is not None:
            items = self._items
            return (
                tuple(item.shown_name or str(item.number) for item in items),
                tuple(item.number for item in items),
                list(examples),
            )
        names = self._names_by_number(file)
        texts = sorted({text for label, text in self._met if label is None and text not in names.values()})
        after = max(names, default=0)
        names |= {after + number: text for number, text in enumerate(texts, start=1)}
        numbers = sorted(names)
        place = {names[number]: index for index, number in reversed(list(enumerate(numbers)))}
        by_number = {number: index for index, number in enumerate(numbers)}
        order = np.full(len(self._met) + 1, UNKNOWN_CLASS, np.int32)  # the last is for UNKNOWN_CLASS itself
        for (label, text), met in self._met.items():
            order[met] = place[text] if label is None else by_number[label]
        exchanged = [replace(example, classes=order[example.classes]) for example in examples]
        return tuple(names[number] for number in numbers), tuple(numbers), exchanged

    def _names_by_number(self, file: str) -> dict[int, str]:
        names: dict[int, str] = {}
        for label, text in self._met:
            if label is None:
                continue
            if label in names and text and names[label] not in {text, str(label)}:
                message = f"The label {label} is called {quoted(names[label])} and {quoted(text)}."
                self._notes.add("label_map_duplicates", message, Origin(file, field="image/object/class"))
            elif text or label not in names:
                names[label] = text or str(label)
        if names and min(names) < 1:
            message = f"The label {min(names)} occurs. Expected labels from 1: 0 is the background."
            self._notes.add("label_map_background", message, Origin(file, field="image/object/class/label"))
        return names


def _names(item: Item) -> list[str]:
    return [name for name in (item.name, item.display_name) if name]
