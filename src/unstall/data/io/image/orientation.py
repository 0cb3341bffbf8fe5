"""Photographs that are stored lying on their side or head, with a note in their EXIF that says how to turn them.

Cameras and telephones store what the sensor saw. Programs that label images show them upright, and boxes are drawn on that. So an
image is taken as its annotation has it: where the size that it gives is that of the turned image, the image is turned; an image
without an annotation is seen as a person sees it. Where nothing tells the two apart, it is taken as it is stored.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unstall.data.check.images import turn_of

Pixels = npt.NDArray[np.uint8]
Size = tuple[int | None, int | None]  # width and height

AS_STORED = 1
ON_SIDE = 5  # EXIF orientations from here on exchange width and height
FIRST_BYTES = 1 << 17  # of a file: the note stands within the first 64 KiB, behind a thumbnail of the maker's at most


def find_turn(encoded: bytes | memoryview, stored: tuple[int, int], said: Size) -> int:
    """The EXIF orientation by which the image is turned before anybody looks at its boxes; 1: not at all."""
    if said != (None, None) and (said == stored or said != stored[::-1]):
        return AS_STORED
    turn = turn_of(bytes(encoded[:FIRST_BYTES])) if bytes(encoded[:2]) == b"\xff\xd8" else AS_STORED
    return turn if said == (None, None) or turn >= ON_SIDE else AS_STORED


def turn_size(stored: tuple[int, int], turn: int) -> tuple[int, int]:
    return stored[::-1] if turn >= ON_SIDE else stored


def turn_image(pixels: Pixels, turn: int) -> Pixels:
    """As EXIF numbers them: 6 is turned right by 90°, 8 left, 3 stands on its head; 2, 4, 5 and 7 are mirrored, too."""
    if turn >= ON_SIDE:
        pixels = pixels.transpose(1, 0, 2)
    if turn in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if turn in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)
