"""An estimate from shapes alone, where there is neither a compiler nor a device to ask."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unstall.config.settings import Settings
from unstall.planning.memory.messages import Answer, Layer, Phase, Sizes, split

if TYPE_CHECKING:
    from unstall.detectors.detector import Detector

WIDTH = {"uint8": 1, "bool": 1, "int32": 4, "float32": 4}
# Bytes that a step holds for each byte that its layers put out: what compilers keep and what they work with. By the figures of
# JAX's compiler for a card, in training: 1.11 for SSDLite, 1.13 for RetinaNet, 1.19 for SSD300; RetinaNet's evaluation 0.19.
HELD = {"training": 1.2, "evaluation": 0.5}
HELD_WITH_REMAT = 0.6  # of what is held without; 0.49 for RetinaNet
# On cores each operation keeps what it gives, and convolutions copy what they read (`python -m benchmarks.memory_on_cores`): in
# training 2.5 to 3.0 on TensorFlow, 3.1 to 4.4 on JAX, 1.3 to 3.5 on PyTorch, and blocks that are computed again save nothing.
# In evaluation 0.8 to 4.5, 0.9 to 1.7 and 1.1 to 5.0: suppression takes the most of it where layers are small.
HELD_ON_CORES = {
    "tensorflow": {"training": 3.0, "evaluation": 3.0},
    "jax": {"training": 4.0, "evaluation": 1.5},
    "torch": {"training": 2.5, "evaluation": 3.5},
}
# Of the values that are read for the regions of a second stage, four for each reading: on a card they are never all there, and
# PyTorch on cores reads in another way.
READ_ON_CORES = {
    "tensorflow": {"training": 3.2, "evaluation": 2.2},
    "jax": {"training": 2.4, "evaluation": 1.2},
    "torch": {"training": 0.0, "evaluation": 0.0},
}
CORNERS, FLOAT_BYTES = 4, 4


def estimate_step(detector: Detector, settings: Settings, phase: Phase, on_cores_by: str = "") -> Answer:
    """For a card, or for the cores of this machine on that backend."""
    from unstall.detectors.layers.conv_norm import list_leaf_layers

    images = settings.at_once
    layers = list_layers(detector, images, settings.max_boxes_per_image)
    sizes = compute_sizes(detector, settings, phase)
    held = HELD_ON_CORES[on_cores_by][phase] if on_cores_by else HELD[phase] * (HELD_WITH_REMAT if settings.remat else 1.0)
    sums = sizes.trainable if settings.micro_batches > 1 else 0  # of the gradients so far
    counted = sizes.weights + sizes.optimizer + sizes.input + sizes.trainable + sums
    frozen = {
        layer.name for layer in list_leaf_layers(detector) if not layer.trainable and "norm" in type(layer).__name__.lower()
    }
    # A frozen norm is a factor and a summand, which is done while the next layer reads.
    counted += int(held * sum(layer.bytes for layer in layers if layer.name not in frozen))
    if on_cores_by:
        counted += int(READ_ON_CORES[on_cores_by][phase] * images * _read_for_regions(detector, phase))
    return split(counted, sizes, layers)


def _read_for_regions(detector: Detector, phase: Phase) -> int:
    """Bytes of an image; none where there is no second stage."""
    from unstall.detectors.faster_rcnn import CELLS, READINGS, FasterRCNN

    if not isinstance(detector, FasterRCNN):
        return 0
    own = detector.settings
    regions: int = own.box_batch_size_per_image if phase == "training" else own.rpn_post_nms_top_n[1]
    return regions * (CELLS * READINGS) ** 2 * CORNERS * int(own.fpn_channels) * FLOAT_BYTES


def compute_sizes(detector: Detector, settings: Settings, phase: Phase) -> Sizes:
    """An evaluation trains nothing."""
    from unstall.training.step.optimizer import SLOTS
    from unstall.training.step.step import Program, list_batch_shapes

    program = Program(detector, settings)
    weights, trainable = _bytes(program.variables), _bytes(program.trained)
    average = _bytes(program.changing) if settings.ema_decay else 0
    shapes = list_batch_shapes(tuple(detector.settings.image_size), settings.batch_size, settings.max_boxes_per_image)
    input_ = sum(math.prod(shape) * WIDTH[kind] for shape, kind in shapes.values())
    if phase == "evaluation":
        return Sizes(weights, 0, 0, input_)
    return Sizes(weights, trainable, len(SLOTS[settings.optimizer]) * trainable + average, input_)


def _bytes(variables: dict[str, Any]) -> int:
    return sum(math.prod(variable.shape) * 4 for variable in variables.values())


# What each layer of a detector puts out in a training step, the largest first: shapes alone, nothing is computed.


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
