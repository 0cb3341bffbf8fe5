"""A probe makes real steps, and says what they took: needs a backend."""

from __future__ import annotations

from unstall.config.settings import Settings
from unstall.detectors import create_model
from unstall.planning.memory.measurement import forget_peak, measure_step, read_peak_bytes

MIB = 2**20


def test_a_step_takes_more_than_its_state() -> None:
    settings = Settings(model="ssd_tiny", batch_size=16, micro_batch_size=16, max_boxes_per_image=8)
    answer = measure_step(create_model("ssd_tiny", image_size=(128, 128)), settings, "training")
    assert answer.need > answer.state + answer.gradients > answer.weights > 0
    assert answer.need == answer.weights + answer.gradients + answer.optimizer + answer.activations + answer.input
    assert 10 * MIB < answer.activations < 2000 * MIB


def test_an_evaluation_keeps_no_gradients() -> None:
    settings = Settings(model="ssd_tiny", batch_size=2, micro_batch_size=2, max_boxes_per_image=8)
    answer = measure_step(create_model("ssd_tiny", image_size=(64, 64)), settings, "evaluation")
    assert (answer.optimizer, answer.gradients) == (0, 0) and answer.need >= answer.weights


def test_a_peak_that_is_over_is_forgotten() -> None:
    held = bytearray(b"x" * (200 * MIB))
    assert read_peak_bytes() >= 200 * MIB
    del held
    now = forget_peak()
    assert read_peak_bytes() < now + 100 * MIB
