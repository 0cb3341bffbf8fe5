"""A training step on JAX as it is compiled for a card, computed here: where more is computed again, and gradients are laid out otherwise."""

from __future__ import annotations

from contextlib import nullcontext

from tests.detectors.seeded import set_weights
from tests.training.step.step_spec import PX, SETTINGS, TOTAL, furthest, taken
from unstall.backends.devices import trace_for_gpu
from unstall.detectors import create_model
from unstall.training.step.step import Step


def test_a_step_as_it_is_compiled_for_a_card_changes_weights_and_statistics_by_as_much() -> None:
    resnet = {
        "stage_blocks": (1, 1, 1, 1),
        "stem_channels": 8,
        "fpn_channels": 16,
        "num_head_convs": 1,
        "trainable_backbone_layers": 5,
        "freeze_batch_norm": False,
    }
    state = []
    for context in (nullcontext(), trace_for_gpu()):
        with context:
            detector = create_model("retinanet_resnet50_fpn", image_size=PX, num_classes=3, **resnet)
            set_weights(detector)
            step = Step(detector, SETTINGS, TOTAL)
            taken(step, 2)
            state.append(step.arrays())
    assert furthest(state[1], state[0]) < 1e-4
