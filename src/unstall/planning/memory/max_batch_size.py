"""The largest batch size that fits, found in few looks.

A look is a compilation of minutes, never a trial that runs out of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from unstall.config.settings import Settings, apply_changes
from unstall.planning.memory.messages import Answer, Layer

FINE_ENOUGH = 0.03  # of the size: a further look would gain less than this
FINE_ENOUGH_SQUEEZED = 0.04
SQUEEZED_FROM = 0.85  # of the limit
GROWS = 1.25
MAX_LOOKS = 10


def find_max_batch_size(need: Callable[[int], int], limit: int, most: int, first: int = 1, is_squeezed: bool = False) -> int:
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


# Measured at two small sizes, known at any: memory is a line over the images of a pass.


PROBES = (2, 4)  # images; small enough for any device that can train at all


def estimate_need(settings: Settings, ask: Callable[[Settings], Answer]) -> Answer:
    """What settings need that are not run themselves: they might not fit. `ask` measures settings of one pass."""
    images = settings.at_once
    if images <= PROBES[-1]:
        answer = ask(_one_pass(settings, images))
    else:
        low, high = (ask(_one_pass(settings, size)) for size in PROBES)
        answer = interpolate(low, high, images)
    return _with_passes(answer, images, settings.batch_size)


def measure_need(settings: Settings, ask: Callable[[Settings], Answer]) -> Answer:
    """What settings need that are run."""
    images = settings.at_once
    return _with_passes(ask(_one_pass(settings, images)), images, settings.batch_size)


def _one_pass(settings: Settings, images: int) -> Settings:
    return apply_changes(settings, {"batch_size": images, "micro_batch_size": images})


def interpolate(low: Answer, high: Answer, images: int) -> Answer:
    """The answer at so many images, by those at the two sizes of the probes."""

    def at(first: int, second: int) -> int:
        return int(first + (second - first) / (PROBES[1] - PROBES[0]) * (images - PROBES[0]))

    layers = tuple(_layer(layer, images) for layer in high.layers)
    return replace(
        high, need=at(low.need, high.need), activations=at(low.activations, high.activations), input=at(low.input, high.input),
        layers=layers,
    )  # fmt: skip


def _layer(layer: Layer, images: int) -> Layer:
    first, *rest = layer.shape
    return replace(
        layer, shape=(first * images // PROBES[1], *rest), bytes=layer.bytes * images // PROBES[1]
    )  # fmt: skip


def _with_passes(answer: Answer, images: int, batch_size: int) -> Answer:
    """Several passes for an update: their sum of gradients is kept, and the whole batch is there."""
    if images >= batch_size:
        return answer
    further = answer.input // images * (batch_size - images)
    return replace(
        answer, need=answer.need + answer.gradients + further, gradients=answer.gradients * 2, input=answer.input + further
    )  # fmt: skip
