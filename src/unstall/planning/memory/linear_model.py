"""Measured at two small sizes, known at any: memory is a line over the images of a pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from unstall.config.settings import Settings, changed
from unstall.planning.memory.messages import Answer
from unstall.training.step.activations import Layer

PROBES = (2, 4)  # images; small enough for any device that can train at all


def on_the_line(settings: Settings, ask: Callable[[Settings], Answer]) -> Answer:
    """What settings need that are not run themselves: they might not fit. `ask` measures settings of one pass."""
    images = settings.at_once
    if images <= PROBES[-1]:
        answer = ask(_one_pass(settings, images))
    else:
        low, high = (ask(_one_pass(settings, size)) for size in PROBES)
        answer = through(low, high, images)
    return _with_passes(answer, images, settings.batch_size)


def itself(settings: Settings, ask: Callable[[Settings], Answer]) -> Answer:
    """What settings need that are run."""
    images = settings.at_once
    return _with_passes(ask(_one_pass(settings, images)), images, settings.batch_size)


def _one_pass(settings: Settings, images: int) -> Settings:
    return changed(settings, {"batch_size": images, "micro_batch_size": images})


def through(low: Answer, high: Answer, images: int) -> Answer:
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
