"""The largest size that fits, in few looks: a look is a compilation of minutes, never a trial that runs out of memory."""

from __future__ import annotations

from collections.abc import Callable

FINE_ENOUGH = 0.03  # of the size: a further look would gain less than this
FINE_ENOUGH_SQUEEZED = 0.04
SQUEEZED_FROM = 0.85  # of the limit
GROWS = 1.25
MAX_LOOKS = 10


def largest(need: Callable[[int], int], limit: int, most: int, first: int = 1, is_squeezed: bool = False) -> int:
    """The largest size up to `most` whose need was looked at and is within the limit; 0 where not even 1 fits.

    Memory is nearly a line over the size of the batch: two looks give the line, a third confirms where it meets the limit. What
    was not looked at is never promised. `is_squeezed`: near the limit the compiler computes some results twice rather than keep
    them, and holds what it needs below it for sizes well beyond the line, until it can no more. From there on no line helps: it
    goes up by a quarter, and halves what is left where that is less.
    """
    looked: dict[int, int] = {}
    guess = min(max(first, 1), most)
    while len(looked) < MAX_LOOKS:
        looked[guess] = need(guess)
        low, high = _bounds(looked, limit, most)
        fine = int(low * (FINE_ENOUGH_SQUEEZED if is_squeezed else FINE_ENOUGH))
        if high - low <= max(1, fine):
            break
        meets = _where_the_line_meets(looked, limit)
        is_at_its_end = bool(low) and len(looked) > 1 and low <= meets <= low + fine
        if is_squeezed and low and (is_at_its_end or looked[low] > SQUEEZED_FROM * limit):
            further = max(int(low * GROWS), low + 1)
            guess = min(further, most) if high > most else min(further, (low + high) // 2)
            continue
        if is_at_its_end:
            break
        guess = min(max(meets, low + 1), high - 1)
    return low


def _bounds(looked: dict[int, int], limit: int, most: int) -> tuple[int, int]:
    """The largest that fits, and the smallest above it that does not."""
    low = max((size for size, need in looked.items() if need <= limit), default=0)
    return low, min((size for size, need in looked.items() if need > limit and size > low), default=most + 1)


def _where_the_line_meets(looked: dict[int, int], limit: int) -> int:
    """The limit, by the two looks nearest to it; with one look, by the line through it and nothing."""
    nearest = sorted(looked.items(), key=lambda pair: abs(pair[1] - limit))
    (size, need), (other, other_need) = (*nearest, (0, 0))[:2]
    slope = (need - other_need) / (size - other)
    return int(size + (limit - need) / slope) if slope > 0 else size
