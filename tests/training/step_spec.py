"""A training step, on whichever backend runs: what it learns, what it leaves alone, and that it goes on as if it had never ended."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from typing import Any

import keras
import numpy as np
import pytest

from tests.detectors.seeded import batch, set_weights
from unstall.detectors import build, settings_of
from unstall.errors import WrongInput
from unstall.settings import Settings
from unstall.training.step import Numbers, Step, draw_key

PX = (64, 64)
STEPS = 3
TOTAL = 40
SMALL: dict[str, dict[str, Any]] = {
    "ssd_tiny": {"frozen_norms": True},
    "retinanet_tiny": {"frozen_norms": True, "head_convs": 1, "channels": 16},
    "faster_rcnn_tiny": {"frozen_norms": True, "anchor_samples": 16, "region_samples": 12, "most_per_level": (40, 40),
                         "most_proposals": (40, 40)},
}  # fmt: skip
# PyTorch compiles nothing, and so runs all families; that the others give the same shows with one. See `conformance.SPECIFIED`.
IS_EVERY = keras.backend.backend() == "torch" or os.environ.get("UNSTALL_EVERY_BACKEND") == "1"
FAMILIES = list(SMALL) if IS_EVERY else ["ssd_tiny"]
SETTINGS = Settings(batch_size=4, rate=0.02, warm_up_steps=2, average_decay=0.9, clip_norm=5.0, seed=7)


def made(variant: str = "ssd_tiny", settings: Settings = SETTINGS, **changes: Any) -> Step:
    detector = build(variant, image_px=PX, classes=3, **{**SMALL[variant], **changes})
    set_weights(detector)
    return Step(detector, settings, TOTAL)


def given(number: int) -> dict[str, np.ndarray]:
    """Images of few boxes and of many: what a part holds differs from part to part."""
    return batch(PX, 3, counts=(5, 1, 0, 3), seed=number)


def taken(step: Step, count: int = STEPS) -> list[Numbers]:
    return [told.read() for told in [step(given(step.iteration)) for _ in range(count)]]


def furthest(these: dict[str, np.ndarray], those: dict[str, np.ndarray], kind: str = "weights/") -> float:
    """As a share of the largest value of each."""
    names = [name for name in those if name.startswith(kind)]
    assert names
    return max(float(np.abs(these[name] - those[name]).max() / np.abs(those[name]).max()) for name in names if those[name].any())


def same_bits(these: dict[str, np.ndarray], those: dict[str, np.ndarray]) -> list[str]:
    """The names of what is not."""
    assert set(these) == set(those)
    return [name for name in these if these[name].tobytes() != those[name].tobytes()]


@cache
def in_parts() -> tuple[Step, list[Numbers], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """After 2·STEPS steps, with what it had told by then, and its arrays after STEPS and after all of them."""
    step = made(settings=replace(SETTINGS, micro_batch=2))
    numbers = taken(step)
    half = step.arrays()
    numbers += taken(step)
    return step, numbers, half, step.arrays()


# --- accumulation ---


@pytest.mark.parametrize("variant", FAMILIES)
def test_parts_give_the_update_of_the_whole_batch(variant: str) -> None:
    whole = made(variant)
    before = whole.arrays()
    numbers = taken(whole)
    after = whole.arrays()
    if variant == "ssd_tiny":
        _, in_two, arrays, _ = in_parts()
    else:
        step = made(variant, replace(SETTINGS, micro_batch=2))
        in_two, arrays = taken(step), step.arrays()
    for one, other in zip(numbers, in_two, strict=False):
        assert other.losses == pytest.approx(one.losses, rel=1e-5) and other.gradient_norm == pytest.approx(
            one.gradient_norm, rel=1e-4
        )
    assert furthest(after, before) > 1e-3, "nothing was learned, so nothing is shown"
    assert furthest(arrays, after) < 1e-5


# --- going on ---


def test_a_run_that_goes_on_ends_with_the_same_bits() -> None:
    _, numbers, half, end = in_parts()
    again = made(settings=replace(SETTINGS, micro_batch=2))
    taken(again, 1)  # whatever it has learned by itself is forgotten
    again.restore(half)
    assert same_bits(again.arrays(), half) == []
    assert taken(again) == numbers[STEPS:]
    assert same_bits(again.arrays(), end) == []


def test_arrays_are_copies() -> None:
    step, _, _, end = in_parts()
    kept = {name: array.copy() for name, array in end.items()}
    taken(step, 1)
    assert same_bits(end, kept) == []
    step.restore(kept)
    assert same_bits(step.arrays(), kept) == []


def test_another_state_is_refused_by_name_and_nothing_is_changed() -> None:
    step, *_ = in_parts()
    before = step.arrays()
    name = "weights/head.classification_head.module_list.0/bias"
    for change, said in (
        ({name: np.zeros(5, np.float32)}, rf"'{name}': expected float32 \(16,\). Received: float32 \(5,\)"),
        ({name: before[name].astype(np.float64)}, "Received: float64"),
        ({"mean/stem": np.zeros(1, np.float32)}, "'mean/stem' has no place here"),
    ):
        with pytest.raises(WrongInput, match=said):
            step.restore({**before, **change})
    with pytest.raises(WrongInput, match=f"'{name}' is missing"):
        step.restore({key: value for key, value in before.items() if key != name})
    assert same_bits(step.arrays(), before) == []


def test_what_is_drawn_hangs_on_the_seed_and_the_step() -> None:
    keys = {tuple(draw_key(seed, iteration).tolist()) for seed in (0, 1, 2**63 - 1) for iteration in range(50)}
    assert len(keys) == 150 and draw_key(3, 4).dtype == np.int32


# --- what is not applied ---


def test_an_update_that_is_not_finite_is_not_applied() -> None:
    step, *_ = in_parts()
    healthy = step.arrays()
    name = next(name for name in healthy if name.startswith("weights/") and name.endswith("/kernel"))
    sick = {**healthy, name: np.full_like(healthy[name], np.nan)}
    step.restore(sick)
    (told,) = taken(step, 1)
    assert not told.is_applied and not np.isfinite(told.loss) and not told.is_overflow
    assert same_bits(step.arrays(), {**sick, "iteration": sick["iteration"] + 1}) == []
    step.restore(healthy)


# --- averages, frozen layers, statistics ---


def test_the_detector_shows_the_averages_and_then_its_own_weights() -> None:
    step, *_ = in_parts()
    arrays = step.arrays()

    def shown(kind: str) -> bool:
        held = {name: keras.ops.convert_to_numpy(variable) for name, variable in step.program.trained.items()}
        return all(np.array_equal(value, arrays[f"{kind}/{name}"]) for name, value in held.items())

    assert shown("weights") and not shown("average")
    with step.averaged():
        assert shown("average")
        with pytest.raises(RuntimeError, match="averages"):
            step(given(0))
    assert shown("weights")
    assert same_bits(step.arrays(), arrays) == []


def test_frozen_layers_have_no_state_and_stay() -> None:
    step, _, _, end = in_parts()
    assert {name.partition("/")[0] for name in end} == {
        "weights", "momentum", "average", "updates", "loss_scale", "updates_at_scale", "iteration"
    }  # fmt: skip
    frozen = set(step.program.fixed)
    assert frozen and not any(name.partition("/")[2] in frozen for name in end if not name.startswith("weights/"))
    detector = build("ssd_tiny", image_px=PX, classes=3, **SMALL["ssd_tiny"])
    set_weights(detector)
    fresh = Step(detector, SETTINGS, TOTAL).arrays()
    assert all(np.array_equal(end[f"weights/{name}"], fresh[f"weights/{name}"]) for name in frozen)


def test_a_batch_of_another_size_is_refused() -> None:
    step, *_ = in_parts()
    with pytest.raises(ValueError, match=r"expected a batch of 4 images\. Received: 3"):
        step({name: value[:3] for name, value in given(0).items()})


# --- the same everywhere ---

EXPECTED: dict[str, list[dict[str, float]]] = {}


@pytest.mark.parametrize("variant", FAMILIES)
def test_every_backend_takes_the_same_steps(variant: str) -> None:
    numbers = in_parts()[1][:STEPS] if variant == "ssd_tiny" else taken(made(variant))
    found = [{**each.losses, "gradient_norm": each.gradient_norm} for each in numbers]
    for one, other in zip(found, EXPECTED[variant], strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    assert settings_of(variant).classes == 6
