"""Divides a data set into train, val and test so that each class, the rare ones above all, is in each.

The rarest class is dealt out first: each of its images goes to the split that still lacks most of it. A class that has at
least one image for each split is thus in each. No split stays empty. The same seed gives the same division.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from unstall.base.errors import InvalidInputError
from unstall.data.example import DataSet
from unstall.data.io.reader import split_name


def divide(data: DataSet, shares: Mapping[str, float], seed: int = 0) -> DataSet:
    """The same examples, each with its new split."""
    splits = check_shares(shares)
    if len(data.examples) < len(splits):
        raise InvalidInputError(f"Expected at least {len(splits)} images, one for each split. Received: {len(data.examples)}.")
    names = list(splits)
    chosen = assign([example.classes.tolist() for example in data.examples], list(splits.values()), seed)
    examples = [replace(example, split=names[split]) for example, split in zip(data.examples, chosen, strict=True)]
    return replace(data, examples=examples)


def check_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Those above 0; together 1."""
    said = ", ".join(f"{name} {share:g}" for name, share in shares.items())
    if any(not 0 <= share <= 1 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-6:
        raise InvalidInputError(f"Expected shares from 0 to 1 that make 1 together. Received: {said}.")
    return {name: share for name, share in shares.items() if share > 0}


def assign(classes: list[list[int]], shares: list[float], seed: int) -> list[int]:
    """The split of each image, from the classes of the boxes in it."""
    order = np.random.default_rng(seed).permutation(len(classes)).tolist()
    members: dict[int, list[int]] = {}
    for image in order:
        for number in sorted(set(classes[image])):
            members.setdefault(number, []).append(image)
    dealing = _SplitBalancer(classes, shares, {number: len(images) for number, images in members.items()})
    for number in sorted(members, key=lambda number: (len(members[number]), number)):
        for image in members[number]:
            dealing.place(image, number)
    for image in order:
        dealing.place(image, None)
    _fill_empty(dealing.chosen, len(shares), order)
    return dealing.chosen


def _fill_empty(chosen: list[int], splits: int, order: list[int]) -> None:
    """With few images, each of a class of its own, everything goes to the largest split: one of its images goes on from there."""
    for split in range(splits):
        fullest = max(range(splits), key=chosen.count)
        if split not in chosen and chosen.count(fullest) > 1:
            chosen[next(image for image in order if chosen[image] == fullest)] = split


class _SplitBalancer:
    """What each split still lacks: of each class, and of images altogether."""

    def __init__(self, classes: list[list[int]], shares: list[float], counts: dict[int, int]) -> None:
        self.chosen = [-1] * len(classes)
        self._classes = [sorted(set(numbers)) for numbers in classes]
        self._images_lacking = [share * len(classes) for share in shares]
        self._lacking = {number: _wanted(count, shares) for number, count in counts.items()}

    def place(self, image: int, number: int | None) -> None:
        if self.chosen[image] >= 0:
            return
        lacking = self._lacking[number] if number is not None else self._images_lacking
        split = max(range(len(lacking)), key=lambda split: (lacking[split], self._images_lacking[split], -split))
        self.chosen[image] = split
        self._images_lacking[split] -= 1
        for other in self._classes[image]:
            self._lacking[other][split] -= 1


def _wanted(count: int, shares: list[float]) -> list[float]:
    """How many images of a class each split should get: its share, but at least one where there are enough for all."""
    if count < len(shares):
        return [share * count for share in shares]
    wanted = [max(1.0, share * count) for share in shares]
    spare = sum(wanted) - count
    largest = max(range(len(shares)), key=lambda split: shares[split])
    wanted[largest] -= spare
    return wanted


def select_split(data: DataSet, split: str) -> DataSet:
    """The examples of one split."""
    return replace(data, examples=[data.examples[row] for row in list_rows(data, split)])


def list_rows(data: DataSet, split: str) -> list[int]:
    """By its name, or by another that everyone takes for it: 'valid' for 'val'."""
    splits = data.splits()
    for name in (split, split_name(split)):
        if name in splits:
            return splits[name]
    named = ", ".join(name or "(none)" for name in splits)
    raise InvalidInputError(f"There is no split '{split}' in '{data.path}'. Splits: {named}.")
