"""A training step, on whichever backend runs: what it learns, what it leaves alone, and that it goes on as if it had never ended."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from typing import Any

import keras
import numpy as np
import pytest

from tests.detectors.conformance import FLOOR
from tests.detectors.seeded import batch, set_weights
from unstall.base.errors import InvalidInputError
from unstall.config.settings import Settings
from unstall.detectors import create_model
from unstall.training.step.step import Step, StepNumbers, draw_key

PX = (64, 64)
STEPS = 3
TOTAL = 40
SMALL: dict[str, dict[str, Any]] = {
    "ssd_tiny": {
        "stage_convs": (1, 1, 1, 1, 1),
        "aspect_ratios": ((2.0,), (2.0,)),
        "scales": (0.1, 0.3, 0.6),
        "trainable_backbone_layers": 4,
    },
    "retinanet_tiny": {"num_head_convs": 1, "fpn_channels": 16, "num_groups": 2},
    "faster_rcnn_tiny": {
        "rpn_batch_size_per_image": 16,
        "box_batch_size_per_image": 12,
        "rpn_pre_nms_top_n": (40, 40),
        "rpn_post_nms_top_n": (40, 40),
    },
}
# PyTorch compiles nothing, and so runs all families; that the others give the same shows with one. See `conformance.SPECIFIED`.
IS_EVERY = keras.backend.backend() == "torch" or os.environ.get("UNSTALL_EVERY_BACKEND") == "1"
FAMILIES = list(SMALL) if IS_EVERY else ["ssd_tiny"]
SETTINGS = Settings(batch_size=4, learning_rate=0.02, warmup_steps=2, ema_decay=0.9, clip_norm=5.0, seed=7)
IN_PARTS = replace(SETTINGS, micro_batch_size=2)


def made(variant: str = "ssd_tiny", settings: Settings = SETTINGS, **changes: Any) -> Step:
    detector = create_model(variant, image_size=PX, num_classes=3, **{**SMALL[variant], **changes})
    set_weights(detector)
    return Step(detector, settings, TOTAL)


def given(number: int) -> dict[str, np.ndarray]:
    """Images of few boxes and of many: what a part holds differs from part to part."""
    return batch(PX, 3, counts=(5, 1, 0, 3), seed=number)


def taken(step: Step, count: int = STEPS) -> list[StepNumbers]:
    return [result.read() for result in [step(given(step.iteration)) for _ in range(count)]]


def furthest(these: dict[str, np.ndarray], those: dict[str, np.ndarray], kind: str = "weights/") -> float:
    """As a share of the largest value of each; what is small against that of all is the rest of a cancellation."""
    largest = {name: float(np.abs(value).max()) for name, value in those.items() if name.startswith(kind)}
    floor = FLOOR * max(largest.values())
    return max(float(np.abs(these[name] - those[name]).max()) / max(scale, floor) for name, scale in largest.items())


def same_bits(these: dict[str, np.ndarray], those: dict[str, np.ndarray]) -> list[str]:
    """The names of what is not."""
    assert set(these) == set(those)
    return [name for name in these if these[name].tobytes() != those[name].tobytes()]


@cache
def first_steps() -> tuple[Step, list[StepNumbers], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """After 2·STEPS steps, with what it had told by then, and its arrays after STEPS and after all of them. Its norms learn."""
    step = made()
    numbers = taken(step)
    half = step.arrays()
    numbers += taken(step)
    return step, numbers, half, step.arrays()


# --- a batch in parts, and on other backends ---

# Of the first two steps with the whole batch, as PyTorch took them.
EXPECTED: dict[str, list[dict[str, float]]] = {
    "ssd_tiny": [
        {"class": 290.5995, "box": 105.4654, "norm": 4182.229},
        {"class": 161.8152, "box": 66.48872, "norm": 2755.2},
    ],
    "retinanet_tiny": [
        {"class": 258.669, "box": 0.8075353, "norm": 413.2069},
        {"class": 314.4077, "box": 0.7743915, "norm": 403.093},
    ],
    "faster_rcnn_tiny": [
        {"objectness": 8.850138, "proposal_box": 6.236193, "class": 2.139128, "box": 4.290591, "norm": 148.3666},
        {"objectness": 6.431044, "proposal_box": 4.309319, "class": 2.300695, "box": 2.95535, "norm": 106.8105},
    ],
}


@pytest.mark.parametrize("variant", FAMILIES)
def test_every_backend_takes_the_same_steps_with_a_batch_in_parts(variant: str) -> None:
    numbers = taken(made(variant, IN_PARTS, freeze_batch_norm=True), 2)
    found = [{**each.losses, "norm": each.gradient_norm} for each in numbers]
    for one, other in zip(found, EXPECTED[variant], strict=True):
        assert one == pytest.approx(other, rel=1e-4)


@pytest.mark.skipif(not IS_EVERY, reason="that the numbers of a step are the same is shown above; to compile two more takes long")
@pytest.mark.parametrize("variant", FAMILIES)
def test_parts_give_the_update_of_the_whole_batch(variant: str) -> None:
    """The first one: later ones begin with weights that differ in the last bit, of which a ReLU or a choice may make more."""
    whole, in_two, in_four = (
        made(variant, settings, freeze_batch_norm=True)
        for settings in (SETTINGS, IN_PARTS, replace(SETTINGS, micro_batch_size=1))
    )
    before = whole.arrays()
    (of_whole,) = taken(whole, 1)
    after = whole.arrays()
    assert furthest(after, before) > 1e-4, "nothing was learned, so nothing is shown"
    for step in (in_two, in_four):
        (of_parts,) = taken(step, 1)
        assert of_parts.losses == pytest.approx(of_whole.losses, rel=1e-5)
        assert of_parts.gradient_norm == pytest.approx(of_whole.gradient_norm, rel=1e-5)
        # The gradient of a bias is a sum of many that nearly cancel: of that the last digits are lost in any order.
        for kind, most in (("weights/", 1e-5), ("average/", 1e-5), ("momentum/", 1e-4)):
            assert furthest(step.arrays(), after, kind) < most, kind


@pytest.mark.skipif(keras.backend.backend() != "jax" or not IS_EVERY, reason="JAX alone has two ways, and compiles both")
def test_parts_in_a_loop_as_on_an_accelerator_give_what_they_give_one_by_one() -> None:
    loop, pieces = made(settings=IN_PARTS), made(settings=IN_PARTS)
    assert loop.train_step.is_in_pieces and pieces.train_step.is_in_pieces, "this test is for a CPU"
    loop.train_step.is_in_pieces = False
    (one,), (other,) = taken(loop, 1), taken(pieces, 1)
    assert one.losses == pytest.approx(other.losses, rel=1e-5)
    assert furthest(loop.arrays(), pieces.arrays()) < 1e-5  # norms learn part after part, and their statistics are among these


# --- going on ---


def test_a_run_that_goes_on_ends_with_the_same_bits() -> None:
    step, numbers, half, end = first_steps()
    if IS_EVERY:  # to compile another takes long
        step = made()
        taken(step, 1)  # whatever it has learned by itself is forgotten
    step.restore(half)
    assert same_bits(step.arrays(), half) == []
    assert taken(step) == numbers[STEPS:]
    assert same_bits(step.arrays(), end) == []


def test_the_norms_of_the_groups_make_up_that_of_all() -> None:
    for numbers in first_steps()[1]:
        assert next(iter(numbers.group_norms)) == "backbone, first layers" and len(numbers.group_norms) > 4
        assert all(norm > 0 for norm in numbers.group_norms.values())
        together = sum(norm**2 for norm in numbers.group_norms.values()) ** 0.5
        assert together == pytest.approx(numbers.gradient_norm, rel=1e-5)


def test_arrays_are_copies() -> None:
    step, _, _, end = first_steps()
    kept = {name: array.copy() for name, array in end.items()}
    taken(step, 1)
    assert same_bits(end, kept) == []
    step.restore(kept)
    taken(step, 1)
    assert same_bits(end, kept) == []
    step.restore(kept)


def test_another_state_is_refused_by_name_and_nothing_is_changed() -> None:
    step, *_ = first_steps()
    before = step.arrays()
    name = "weights/head.classification_head.module_list.0/bias"
    for change, said in (
        ({name: np.zeros(5, np.float32)}, rf"'{name}': expected float32 \(16,\). Received: float32 \(5,\)"),
        ({name: before[name].astype(np.float64)}, "Received: float64"),
        ({"mean/stem": np.zeros(1, np.float32)}, "'mean/stem' has no place here"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            step.restore({**before, **change})
    with pytest.raises(InvalidInputError, match=f"'{name}' is missing"):
        step.restore({key: value for key, value in before.items() if key != name})
    assert same_bits(step.arrays(), before) == []


def test_what_is_drawn_hangs_on_the_seed_and_the_step() -> None:
    keys = {tuple(draw_key(seed, iteration).tolist()) for seed in (0, 1, 2**63 - 1) for iteration in range(50)}
    assert len(keys) == 150 and draw_key(3, 4).dtype == np.int32


# --- what is not applied ---


def test_an_update_that_is_not_finite_is_not_applied() -> None:
    step, *_ = first_steps()
    healthy = step.arrays()
    name = "weights/head.classification_head.module_list.0/bias"
    sick = {**healthy, name: np.where(np.arange(healthy[name].size) % 2, 3e38, -3e38).astype(np.float32)}
    step.restore(sick)
    (result,) = taken(step, 1)
    assert not result.is_applied and not np.isfinite(result.loss) and not result.is_overflow
    assert same_bits(step.arrays(), {**sick, "iteration": sick["iteration"] + 1}) == []
    step.restore(healthy)


@pytest.mark.skipif(not IS_EVERY, reason="to compile another takes long; how the scale moves is specified by itself")
def test_in_float16_an_overflow_halves_the_scale_and_is_no_fault() -> None:
    step = made(settings=replace(SETTINGS, precision="float16"), precision="mixed_float16")
    before = step.arrays()
    step.restore({**before, "loss_scale": np.array(2.0**24, np.float32)})
    (result,) = taken(step, 1)
    assert not result.is_applied and result.is_overflow and np.isfinite(result.loss) and result.loss_scale == 2.0**24
    after = step.arrays()
    assert after["loss_scale"] == 2.0**23
    assert [name for name in same_bits(after, before) if name not in ("loss_scale", "iteration")] == []
    step.restore(before)
    assert all(each.is_applied and each.loss_scale == 2.0**15 for each in taken(step))


# --- averages, statistics, frozen layers ---


def test_the_detector_shows_the_averages_and_then_its_own_weights() -> None:
    step, *_ = first_steps()
    arrays = step.arrays()

    def shown(kind: str) -> bool:
        held = {name: keras.ops.convert_to_numpy(variable) for name, variable in step.program.changing.items()}
        return all(np.array_equal(value, arrays[f"{kind}/{name}"]) for name, value in held.items())

    assert shown("weights") and not shown("average")
    with step.get_ema_weights():
        assert shown("average")
        with pytest.raises(RuntimeError, match="averages"):
            step(given(0))
    assert shown("weights")
    assert same_bits(step.arrays(), arrays) == []


class Looking(keras.Model):
    """Keras predicts with it, and does with its variables as it does with those of any model."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.detector = step.detector
        self.built = True

    def call(self, images: Any) -> Any:
        return self.detector.prepared(images)


@pytest.mark.parametrize("ema_decay", [0.9, 0.0])
def test_keras_may_predict_meanwhile_and_the_state_is_as_before(ema_decay: float) -> None:
    step = made(settings=replace(SETTINGS, ema_decay=ema_decay))
    before = step.arrays()
    with step.get_ema_weights():
        for _ in range(2):
            Looking(step).predict_on_batch(given(0)["images"])
    assert same_bits(step.arrays(), before) == []
    shown = [keras.ops.convert_to_numpy(variable.value) for variable in step.program.variables.values()]
    assert all(
        value.tobytes() == before[f"weights/{name}"].tobytes() for name, value in zip(step.program.variables, shown, strict=True)
    )


def test_what_learns_changes_and_what_is_frozen_has_no_state_and_stays() -> None:
    step, _, half, end = first_steps()
    assert {name.partition("/")[0] for name in end} == {
        "weights", "momentum", "average", "updates", "loss_scale", "updates_at_scale", "iteration"
    }  # fmt: skip
    fixed, statistics, trained = (set(names) for names in (step.program.fixed, step.program.statistics, step.program.trained))
    assert {name.rpartition("/")[2] for name in statistics} == {"moving_mean", "moving_variance"}
    assert fixed and not any(name.partition("/")[2] in fixed for name in end if not name.startswith("weights/"))
    assert not any(f"momentum/{name}" in end for name in statistics)
    changed = {name.removeprefix("weights/") for name in half if name.startswith("weights/") and (half[name] != end[name]).any()}
    assert changed == trained | statistics
    assert end["iteration"] == 2 * STEPS == end["updates"]


def test_a_batch_of_another_size_is_refused() -> None:
    step, *_ = first_steps()
    with pytest.raises(ValueError, match=r"expected a batch of 4 images\. Received: 3"):
        step({name: value[:3] for name, value in given(0).items()})


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="the others write into the memory that they have")
def test_the_old_state_is_gone_before_the_new_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    import gc

    import jax

    step = made()
    arrays = step.arrays()
    held = {id(array): array.nbytes for array in step.train_step.state.values()}
    left: list[int] = []
    put = jax.device_put

    def watched(*given: Any, **options: Any) -> Any:
        if not left:  # as the first of the new comes; to look again at each of hundreds would take half a minute
            gc.collect()
            left.append(sum(1 for array in jax.live_arrays() if id(array) in held))
        return put(*given, **options)

    monkeypatch.setattr(jax, "device_put", watched)
    step.restore(arrays)
    assert left[0] == 0


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="the others compile a step")
@pytest.mark.parametrize("variant", SMALL)
def test_what_would_be_recorded_of_a_step_gives_its_bits(variant: str) -> None:
    """Also with other weights than those it was traced with, and in stretches with what waits for a card between them."""
    import torch

    from unstall.training.step.cuda_graphs import split_into_stretches, trace_operations

    step = made(variant)
    part, given_tensors = step.train_step._one_part, _tensors_of(step)  # type: ignore[attr-defined]
    recorded = split_into_stretches(trace_operations(part, given_tensors))
    taken(step, 1)
    with torch.no_grad():
        result = recorded(*given_tensors)
    assert all(torch.equal(these, those) for these, those in zip(result, part(*given_tensors), strict=True))
    waits = [node for node in recorded.graph.nodes if "settled" in str(node.target)]
    assert bool(waits) == (variant == "faster_rcnn_tiny")


def _tensors_of(step: Step) -> list[Any]:
    import torch

    one = given(0)
    part = [torch.from_numpy(one[name]) for name in ("images", "boxes", "classes", "mask")]
    key, first = torch.from_numpy(draw_key(7, 0)), torch.tensor(0, dtype=torch.int32)
    statistics = [variable.value.clone() for variable in step.program.statistics.values()]
    return [*part, key, first, torch.tensor(1.0), *statistics]
