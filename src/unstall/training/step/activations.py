"""What each layer of a detector puts out in a training step, the largest first: shapes alone, nothing is computed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unstall.detectors.detector import Detector

Output = tuple[tuple[int, ...], int]  # shape, and bytes of one number


def list_layers(detector: Detector, images: int, max_boxes_per_image: int) -> tuple[Layer, ...]:
    """Of one pass over so many images."""
    from unstall.training.step.step import LossModel

    outputs: dict[str, list[Output]] = defaultdict(list)
    kinds: dict[str, str] = {}
    with _overheard(detector, outputs, kinds):
        LossModel(detector)(create_batch(detector, images, max_boxes_per_image), training=True)
    found = [_layer(name, kinds[name], own) for name, own in outputs.items()]
    return tuple(sorted(found, key=lambda layer: -layer.bytes))


def create_batch(detector: Detector, images: int, max_boxes_per_image: int) -> dict[str, Any]:
    """Shapes and types of what a step is fed with."""
    import keras

    from unstall.training.step.step import list_batch_shapes

    shapes = list_batch_shapes(tuple(detector.settings.image_size), images, max_boxes_per_image)
    return {name: keras.KerasTensor(shape, dtype) for name, (shape, dtype) in shapes.items()}


def _layer(name: str, kind: str, outputs: list[Output]) -> Layer:
    sizes = [math.prod(shape) * width for shape, width in outputs]
    largest, _ = max(outputs, key=lambda output: math.prod(output[0]))
    return Layer(name, kind, largest, len(outputs), sum(sizes))


@contextmanager
def _overheard(detector: Detector, outputs: dict[str, list[Output]], kinds: dict[str, str]) -> Iterator[None]:
    """While it is open, each layer that holds no others writes down what it puts out."""
    leaves = [layer for layer in detector._flatten_layers(include_self=False) if not layer._layers]
    try:
        for layer in leaves:
            kinds[layer.name] = type(layer).__name__
            layer.call = _recording(layer.call, outputs[layer.name])
        yield
    finally:
        for layer in leaves:
            del layer.call
    for name in [name for name, own in outputs.items() if not own]:
        del outputs[name]  # was never called


def _recording(call: Callable[..., Any], own: list[Output]) -> Callable[..., Any]:
    import keras

    def recorded_call(*values: Any, **more: Any) -> Any:
        result = call(*values, **more)
        width = keras.backend.standardize_dtype(result.dtype)
        own.append((tuple(result.shape), 2 if width in {"bfloat16", "float16"} else 4))
        return result

    return recorded_call


@dataclass(frozen=True)
class Layer:
    """What a layer puts out for the micro-batch, over all its calls."""

    name: str
    kind: str
    shape: tuple[int, ...]  # of its largest output
    calls: int
    bytes: int
