"""Measured at two small sizes: what a larger one needs is on the line, and several passes add what they keep."""

from __future__ import annotations

from unstall.config.settings import Settings
from unstall.planning.memory.max_batch_size import PROBES, estimate_need, measure_need
from unstall.planning.memory.messages import Answer, Layer

WEIGHTS, PER_IMAGE, INPUT = 100, 40, 3


def measured(settings: Settings) -> Answer:
    """A probe that runs one pass of all its images."""
    images = settings.batch_size
    assert settings.micro_batch_size == images <= PROBES[-1], "a size was run that might not fit"
    return Answer(
        need=3 * WEIGHTS + PER_IMAGE * images, weights=WEIGHTS, gradients=WEIGHTS, optimizer=WEIGHTS, input=INPUT * images,
        activations=(PER_IMAGE - INPUT) * images, state=2 * WEIGHTS, layers=(Layer("conv", "Conv", (images, 8, 8, 4), 1, 1024 * images),),
    )  # fmt: skip


def test_a_large_batch_is_on_the_line_through_the_probes() -> None:
    answer = estimate_need(Settings(batch_size=64), measured)
    assert answer.need == 3 * WEIGHTS + PER_IMAGE * 64
    assert answer.need == answer.weights + answer.gradients + answer.optimizer + answer.activations + answer.input
    assert answer.layers == (Layer("conv", "Conv", (64, 8, 8, 4), 1, 1024 * 64),)


def test_a_small_one_is_measured_itself() -> None:
    assert estimate_need(Settings(batch_size=3), measured) == measured(Settings(batch_size=3, micro_batch_size=3))


def test_several_passes_keep_the_sum_of_gradients_and_the_whole_batch() -> None:
    once, often = (estimate_need(Settings(batch_size=size, micro_batch_size=8), measured) for size in (8, 32))
    assert often.need == once.need + WEIGHTS + 24 * INPUT
    assert often.activations == once.activations


def test_settings_that_are_run_themselves_keep_the_same_beside_it() -> None:
    assert measure_need(Settings(batch_size=32, micro_batch_size=4), measured) == estimate_need(
        Settings(batch_size=32, micro_batch_size=4), measured
    )
