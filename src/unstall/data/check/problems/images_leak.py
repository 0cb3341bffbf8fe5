"""Nearly the same image lies in two splits: what is tested has been trained on.

What it is
----------
The training and the validation or test images share pictures: copies, the same file saved twice, neighbouring frames of a
video.

What it does to a training
--------------------------
The score on those images measures memory, not skill. The training looks better than it is, stops too late, and disappoints on
new images.

How we know
-----------
A 64-bit hash of each image (brighter or darker from column to column) finds candidates that differ in few bits; each pair is
then compared as small grey pictures. Images without contrast are not compared.

When this is wrong
------------------
If the scene never changes and small objects make all the difference, as with a fixed camera: look at the pairs.

What to do
----------
Put both into one split: divide by scene, video or patient rather than by image.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.images import create_thumbnail
from unstall.data.example import Finding

SEVERITY = Severity.WARNING
NEAR_BITS = 3  # of 64 that may differ
MIN_CONTRAST = 4.0  # grey levels (standard deviation): a flatter image is like any other flat one
MAX_DIFFERENCE = 0.06  # of the contrast, on average over the small pictures
MAX_CANDIDATES = 20  # with one and the same hash: more are a property of the scene
_BANDS = 4  # of 16 bits: two hashes that differ in 3 bits agree in one of them


def examine(checked: CheckedData) -> list[Finding]:
    splits = [example.split for example in checked.data.examples]
    if len(set(splits)) < 2:
        return []
    found, result = [], set()
    for first, second in _candidates(checked, splits):
        if second not in result and _alike(checked, first, second):
            result.add(second)
            other = checked.data.examples[first]
            message = (
                f"Expected an image of '{splits[second]}' that '{splits[first]}' does not hold."
                f" Received: nearly the same as {other.name}."
            )
            found.append(checked.create_image_finding("images_leak", second, message))
    return found


def _candidates(checked: CheckedData, splits: list[str]) -> Iterator[tuple[int, int]]:
    """Pairs of rows of different splits whose hashes differ in few bits; the one of the training split first."""
    hashes = {row: facts.likeness for row, facts in checked.images.items() if facts.likeness is not None and not facts.error}
    seen: set[tuple[int, int]] = set()
    for band in range(_BANDS):
        alike = defaultdict(list)
        for row, value in hashes.items():
            alike[(value >> (16 * band)) & 0xFFFF].append(row)
        for rows in alike.values():
            for pair in _pairs_across(rows, splits, hashes):
                if pair not in seen:
                    seen.add(pair)
                    yield pair


def _pairs_across(rows: list[int], splits: list[str], hashes: dict[int, int]) -> Iterator[tuple[int, int]]:
    if len({splits[row] for row in rows}) < 2:
        return
    if len(rows) > 200:  # a band shared by so many says little: only equal hashes are compared, and not if they are common
        same = defaultdict(list)
        for row in rows:
            same[hashes[row]].append(row)
        groups = [group for group in same.values() if 1 < len(group) <= MAX_CANDIDATES]
    else:
        groups = [rows]
    for group in groups:
        for first, second in _near(group, hashes):
            if splits[first] != splits[second]:
                yield (second, first) if splits[second].startswith("train") else (first, second)


def _near(rows: list[int], hashes: dict[int, int]) -> Iterator[tuple[int, int]]:
    """All pairs whose hashes differ in few bits."""
    values = np.array([hashes[row] for row in rows], np.uint64)
    bits = np.unpackbits(values.view(np.uint8).reshape(-1, 8), axis=1).astype(np.int8)
    ones = bits.sum(axis=1, dtype=np.int32)
    differing = ones[:, None] + ones[None] - 2 * (bits.astype(np.float32) @ bits.T.astype(np.float32))
    for first, second in np.argwhere(np.triu(differing <= NEAR_BITS, k=1)).tolist():
        yield rows[first], rows[second]


def _alike(checked: CheckedData, first: int, second: int) -> bool:
    pictures = []
    for row in (first, second):
        source = checked.data.examples[row].image
        picture = create_thumbnail(source) if source is not None else None
        if picture is None or picture.std() < MIN_CONTRAST:
            return False
        pictures.append((picture - picture.mean()) / picture.std())
    return bool(np.abs(pictures[0] - pictures[1]).mean() <= MAX_DIFFERENCE)
