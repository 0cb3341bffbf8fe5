"""What the compiler says of a step is what the step is: needs JAX."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from unstall.config.settings import Settings
from unstall.detectors import create_model
from unstall.planning.memory import devices, estimate
from unstall.planning.memory.compiler import GIVEN, can_compile, compile_step, describe_target
from unstall.planning.memory.estimate import estimate_step, list_layers
from unstall.training.step.step import Step, list_batch_shapes
from unstall.training.step.train_step_jax import JaxTrainStep

SETTINGS = Settings(model="ssd_tiny", batch_size=4, optimizer="adamw", ema_decay=0.9, max_boxes_per_image=8)
IMAGE_PX = (64, 64)


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> object:
    """What is compiled here once is not compiled again."""
    jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    return create_model("ssd_tiny", image_size=IMAGE_PX)


@pytest.fixture(scope="module")
def batch() -> dict[str, np.ndarray]:
    shapes = list_batch_shapes(IMAGE_PX, SETTINGS.batch_size, SETTINGS.max_boxes_per_image)
    return {name: np.zeros(shape, kind) for name, (shape, kind) in shapes.items()}


def test_a_plan_for_the_cores_is_the_figure_of_the_step_that_runs(detector: object, batch: dict[str, np.ndarray]) -> None:
    answer = compile_step(detector, SETTINGS, "training", {})
    step = Step(detector, SETTINGS, total_steps=2)
    assert isinstance(step.train_step, JaxTrainStep)
    live = sum(array.nbytes for array in (*step.train_step.state.values(), *step.train_step.fixed.values()))
    numbers = 1024  # bytes: counts of updates, the rate, the key
    assert answer.state <= live <= answer.state + numbers
    fed = sum(array.nbytes for array in batch.values())
    assert live + fed <= answer.said["argument"] <= live + fed + numbers
    running = step.train_step.lower(batch).compile().memory_analysis()
    assert answer.said["temp"] == running.temp_size_in_bytes
    assert answer.need == answer.weights + answer.gradients + answer.optimizer + answer.activations + answer.input
    assert answer.activations > 0 and answer.input == fed


def test_layers_are_listed_by_what_they_put_out(detector: Any) -> None:
    layers = list_layers(detector, 4, SETTINGS.max_boxes_per_image)
    assert [layer.bytes for layer in layers] == sorted((layer.bytes for layer in layers), reverse=True)
    width = detector.settings.stem_channels
    assert layers[0].shape == (4, 64, 64, width) and layers[0].bytes == 4 * 64 * 64 * width * 4
    assert {layer.kind for layer in layers} >= {"Conv", "BatchNorm"}
    again = {layer.name: layer.bytes for layer in list_layers(detector, 8, SETTINGS.max_boxes_per_image)}
    assert all(again[layer.name] == 2 * layer.bytes for layer in layers)


def test_an_estimate_grows_with_the_batch_and_knows_remat(detector: object) -> None:
    small, large = (estimate_step(detector, replace(SETTINGS, batch_size=size), "training") for size in (4, 8))
    assert large.activations == pytest.approx(2 * small.activations, rel=0.01) and large.weights == small.weights
    assert estimate_step(detector, replace(SETTINGS, remat=True), "training").need < small.need
    assert estimate_step(detector, SETTINGS, "evaluation").need < small.need


def test_on_cores_more_is_held_and_regions_are_read_all_at_once(detector: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert estimate_step(detector, SETTINGS, "training", "jax").need > 1.5 * estimate_step(detector, SETTINGS, "training").need
    two_stages = create_model("faster_rcnn_tiny", image_size=IMAGE_PX)
    small = replace(SETTINGS, model="faster_rcnn_tiny", batch_size=2)
    whole = estimate_step(two_stages, small, "training", "jax").need
    monkeypatch.setitem(estimate.READ_ON_CORES, "jax", {"training": 0.0})
    regions = 32 * (7 * 2) ** 2 * 32  # readings of an image, of each channel
    assert whole - estimate_step(two_stages, small, "training", "jax").need == pytest.approx(2.4 * 2 * regions * 4 * 4, abs=1)


@pytest.mark.skipif(not can_compile(for_card=True), reason="the compiler for cards is not installed")
def test_a_step_is_compiled_for_a_card_that_is_not_here(detector: object) -> None:
    answer = compile_step(detector, SETTINGS, "training", devices.list_gpus()["t4"])
    assert answer.need > answer.state and answer.activations > 0


@pytest.mark.parametrize("name", devices.list_gpus())
def test_every_card_is_told_to_the_compiler_in_its_own_words(name: str) -> None:
    card = devices.list_gpus()[name]
    text = describe_target(card)
    assert f"device_memory_size: {card['memory_bytes']}" in text and f"major: {card['capability'][0]}" in text
    assert text.count("{") == text.count("}") and jax.__version__
    assert f"device_memory_size: {10 * 2**30}" in describe_target({**card, GIVEN: 8 * 2**30})  # of which it takes 8 to be given
