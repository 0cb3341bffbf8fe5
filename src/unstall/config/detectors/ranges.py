"""What a detector's settings may be. Each check takes the settings and names of fields, and refuses by name, range and value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

from unstall.base.errors import InvalidInputError

MIN_SIDE_PX = 32  # of an image: less than the stride of a backbone's last map is nothing to look at
MAX_SIDE_PX = 8192
SHARES = ("_iou_threshold", "_nms_threshold", "score_threshold", "_fraction")  # ends of names: each is one, whatever the detector


def check_whole_numbers(settings: Any, least: int, most: int | None, *names: str) -> None:
    """Whole numbers from `least` to `most`, both included."""
    expected = f"a whole number of {least} or more" if most is None else f"a whole number from {least} to {most}"
    for name in names:
        value = getattr(settings, name)
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= least and (most is None or value <= most)
        _refuse_unless(fits, name, expected, value)


def check_fractions(settings: Any, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        _refuse_unless(_is_number(value) and 0 <= value <= 1, name, "a share, 0 to 1", value)


def check_at_least(settings: Any, least: float, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        _refuse_unless(_is_number(value) and value >= least, name, f"{least:g} or more", value)


def check_choices(settings: Any, kind: Any, *names: str) -> None:
    """One of the words of a `Literal`."""
    words = get_args(kind)
    for name in names:
        value = getattr(settings, name)
        _refuse_unless(value in words, name, f"one of {', '.join(words)}", repr(value))


def check_flags(settings: Any, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        _refuse_unless(isinstance(value, bool), name, "True or False", repr(value))


def check_positive(settings: Any, *names: str) -> None:
    """A list, not empty, of numbers above 0; or a list of such lists."""
    for name in names:
        value = getattr(settings, name)
        rows = value if _is_list(value) and value and all(_is_list(row) for row in value) else [value]
        fits = all(_is_list(row) and row and all(_is_number(item) and item > 0 for item in row) for row in rows)
        _refuse_unless(fits, name, "a list of one or more numbers above 0", value)


def check_image_size(settings: Any) -> None:
    """`image_size`: height and width, which need not be equal."""
    value = settings.image_size
    fits = _is_list(value) and len(value) == 2 and all(isinstance(side, int) for side in value)
    fits = fits and all(MIN_SIDE_PX <= side <= MAX_SIDE_PX for side in value)
    _refuse_unless(
        fits, "image_size", f"height and width in whole pixels, {MIN_SIDE_PX} to {MAX_SIDE_PX} each, as in 640,640", value
    )


def check_kind(name: str, kind: str, value: Any) -> None:
    """By the annotation of its field alone, as the source has it: what can be said before any framework is loaded."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if kind == "int":
        _refuse_unless(is_whole, name, "a whole number", repr(value))
    elif kind == "float":
        _refuse_unless(_is_number(value), name, "a number", repr(value))
        if name.endswith(SHARES):
            _refuse_unless(0 <= value <= 1, name, "a share, 0 to 1", value)
    elif kind == "bool":
        _refuse_unless(isinstance(value, bool), name, "true or false", repr(value))
    elif kind.startswith("tuple"):
        _refuse_unless(_is_list(value), name, "a list, as in [1.0, 2.0]", repr(value))


def check_same_length(settings: Any, count: int, why: str, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        _refuse_unless(_is_list(value) and len(value) == count, name, f"{count} entries ({why})", value)


def check_ordered(settings: Any, lower: str, upper: str) -> None:
    low, high = getattr(settings, lower), getattr(settings, upper)
    _refuse_unless(low <= high, lower, f"no more than {upper} ({high})", low)


def _refuse_unless(fits: bool, name: str, expected: str, value: Any) -> None:
    if not fits:
        raise InvalidInputError(f"{name}: expected {expected}. Received: {value}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


# What the settings of several detectors share: the numbers of published backbones, and the precisions.


Precision = Literal["float32", "mixed_bfloat16", "mixed_float16"]  # as Keras calls its dtype policies

VGG16 = (2, 2, 3, 3, 3)  # convolutions of the five stages
VGG_WIDTH = 64  # channels of the first stage
VGG_DILATION = 6  # of the first convolution that was once fully connected: it looks as far as it did when it was larger
RESNET50 = (3, 4, 6, 3)  # blocks of the four stages
RESNET_STEM_CHANNELS = 64
MOBILENET_STAGES = (0, 2, 4, 7, 13, 16)  # the features that a stage begins with: the stem, those that halve the map, the last
FPN_CHANNELS = 256
