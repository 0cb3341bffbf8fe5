"""An estimate from shapes alone, where there is neither a compiler nor a device to ask."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from unstall.memory.layers import batch_shapes, layers_of
from unstall.memory.needs import Answer, Phase, Sizes, split
from unstall.settings import Settings

if TYPE_CHECKING:
    from unstall.detectors.detector import Detector

WIDTH = {"uint8": 1, "bool": 1, "int32": 4, "float32": 4}
# Bytes that a step holds for each byte that its layers put out: what compilers keep and what they work with. By the figures of
# JAX's compiler for a card, in training: 1.11 for SSDLite, 1.13 for RetinaNet, 1.19 for SSD300; RetinaNet's evaluation 0.19.
HELD = {"training": 1.2, "evaluation": 0.5}
HELD_WITH_REMAT = 0.6  # of what is held without; 0.49 for RetinaNet


def estimated(detector: Detector, settings: Settings, phase: Phase) -> Answer:
    from unstall.detectors.parts.layers import leaf_layers

    images = settings.at_once
    layers = layers_of(detector, images, settings.most_boxes)
    sizes = sizes_of(detector, settings, phase)
    held = HELD[phase] * (HELD_WITH_REMAT if settings.remat else 1.0)
    sums = sizes.trainable if settings.micro_batches > 1 else 0  # of the gradients so far
    counted = sizes.weights + sizes.optimizer + sizes.input + sizes.trainable + sums
    frozen = {layer.name for layer in leaf_layers(detector) if not layer.trainable and "norm" in type(layer).__name__.lower()}
    # A frozen norm is a factor and a summand, which is done while the next layer reads.
    return split(counted + int(held * sum(layer.bytes for layer in layers if layer.name not in frozen)), sizes, layers)


def sizes_of(detector: Detector, settings: Settings, phase: Phase) -> Sizes:
    """An evaluation trains nothing."""
    from unstall.training.program import Program
    from unstall.training.update import SLOTS

    program = Program(detector, settings)
    weights, trainable = _bytes(program.variables), _bytes(program.trained)
    average = _bytes(program.changing) if settings.average_decay else 0
    shapes = batch_shapes(tuple(detector.settings.image_px), settings.batch_size, settings.most_boxes)
    input_ = sum(math.prod(shape) * WIDTH[kind] for shape, kind in shapes.values())
    if phase == "evaluation":
        return Sizes(weights, 0, 0, input_)
    return Sizes(weights, trainable, len(SLOTS[settings.optimizer]) * trainable + average, input_)


def _bytes(variables: dict[str, Any]) -> int:
    return sum(math.prod(variable.shape) * 4 for variable in variables.values())
