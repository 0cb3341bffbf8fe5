"""A training step on JAX as it is compiled for a card, computed here: where more is computed again, and gradients are laid out otherwise."""

from __future__ import annotations

from contextlib import nullcontext

from tests.detectors.seeded import set_weights
from tests.training.step.step_spec import PX, SETTINGS, TOTAL, furthest, taken
from unstall.backends.devices import as_on_a_card
from unstall.detectors import build
from unstall.training.step.step import Step


def test_a_step_as_it_is_compiled_for_a_card_changes_weights_and_statistics_by_as_much() -> None:
    resnet = {"blocks": (1, 1, 1, 1), "width": 8, "channels": 16, "head_convs": 1, "trainable_stages": 5, "frozen_norms": False}
    state = []
    for context in (nullcontext(), as_on_a_card()):
        with context:
            detector = build("retinanet_resnet50_fpn", image_px=PX, classes=3, **resnet)
            set_weights(detector)
            step = Step(detector, SETTINGS, TOTAL)
            taken(step, 2)
            state.append(step.arrays())
    assert furthest(state[1], state[0]) < 1e-4
