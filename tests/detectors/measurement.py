"""What one backend makes of detectors, written to a file each. A process of its own, as there is one backend in a process:

KERAS_BACKEND=jax python -m tests.detectors.measurement '[["retinanet_tiny", {"image_size": [64, 96]}, "out.npz"]]'
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from tests.detectors.gradients import Differentiated, Differentiating, compiled, differentiated, learned_by, states_after
from tests.detectors.seeded import batch, set_weights, variables_of
from unstall.config.settings import Settings
from unstall.detectors import create_model
from unstall.detectors.detector import Detector
from unstall.training.step.step import LossModel, Step

STEPS = 12  # of the training that must lower the loss
FEWER_BOXES = 3  # further steps, on batches with other numbers of boxes
RULES = Settings(
    optimizer="adamw", learning_rate=1e-3, weight_decay=0.0, clip_norm=0.0, warmup_steps=0, lr_schedule="constant", batch_size=2
)
SEEDS = 3  # batches of which the backends' gradients are compared


def seeded(name: str, changes: dict[str, Any], **more: Any) -> Detector:
    detector = create_model(name, **{**changes, **more})
    set_weights(detector)
    return detector


def measure(name: str, changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Facts that can be written as JSON, and arrays."""
    facts: dict[str, Any] = {"backend": keras.backend.backend(), "variant": name}
    arrays: dict[str, np.ndarray] = {}
    detector = seeded(name, changes)
    settings = detector.settings
    facts |= {"classes": settings.num_classes, "image_size": list(settings.image_size), "loss_names": list(detector.loss_names)}
    images = batch(settings.image_size, settings.num_classes)
    # Together: what both do is compiled once.
    outputs, found = compiled(lambda pixels: (detector(pixels, training=False), tuple(detector.compute_detections(pixels))))(
        images["images"]
    )
    facts["forward"] = _forward(outputs, arrays)
    facts["detections"] = _detections(found, settings.image_size, arrays)
    facts["saved"] = _saved(detector, name, changes, images["images"])
    differentiating = Differentiating(LossModel(detector))
    whole = differentiating(images)
    facts["whole"] = _facts(whole)
    for seed in range(SEEDS):
        found = differentiating(batch(settings.image_size, settings.num_classes, seed=seed)) if seed else whole
        arrays |= {f"gradient {key} {seed}": value for key, value in found.gradients.items()}
    remat = differentiated(LossModel(seeded(name, changes, remat=True)), images)
    facts["remat"] = _facts(remat) | {"furthest": _furthest(remat.gradients, whole.gradients)}
    facts["remat"]["furthest_state"] = _furthest(remat.states, whole.states)
    facts["bfloat16"] = _facts(differentiated(LossModel(seeded(name, changes, precision="mixed_bfloat16")), images))
    facts["frozen"] = _frozen(name, changes, images)
    facts["fitted"] = _fitted(name, changes)
    return facts, arrays


def _forward(given: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    outputs = keras.tree.flatten(given)
    for number, output in enumerate(outputs):
        arrays[f"forward {number}"] = ops.convert_to_numpy(ops.cast(output, "float32"))
    return {"finite": all(bool(np.isfinite(arrays[f"forward {number}"]).all()) for number in range(len(outputs)))}


def _detections(found: Any, image_size: tuple[int, int], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    boxes, scores, classes = (ops.convert_to_numpy(each) for each in found)
    arrays["detected scores"] = scores
    height, width = image_size
    return {
        "shapes": [list(each.shape) for each in (boxes, scores, classes)],
        "dtypes": [str(each.dtype) for each in (boxes, scores, classes)],
        "sorted": bool((np.diff(scores, axis=1) <= 0).all()),
        "inside": bool((boxes >= 0).all() and (boxes <= (width, height, width, height)).all()),
        "class_range": [int(classes.min()), int(classes.max())],
        "unused_agree": bool(((scores == 0) == (classes == -1)).all()),
        "found": int((classes >= 0).sum()),
    }


def _saved(detector: Detector, name: str, changes: dict[str, Any], images: np.ndarray) -> dict[str, Any]:
    """How far the outputs are from each other before saving and after loading into a fresh one."""
    other = create_model(name, **changes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "of.weights.h5"
        detector.save_weights(path)
        other.load_weights(path)
    before, after = variables_of(detector), variables_of(other)
    equal = [np.array_equal(ops.convert_to_numpy(before[key]), ops.convert_to_numpy(after[key])) for key in before]
    return {"same_names": list(before) == list(after), "equal": all(equal), "variables": len(equal)}


def _facts(result: Differentiated) -> dict[str, Any]:
    return {
        "losses": result.losses,
        "dtypes": result.dtypes,
        "finite": all(bool(np.isfinite(gradient).all()) for gradient in result.gradients.values()),
        "learned": list(result.gradients),
        "without_gradient": [key for key, value in result.gradients.items() if not np.any(value)],
    }


def _furthest(these: dict[str, np.ndarray], those: dict[str, np.ndarray]) -> float:
    from tests.detectors.conformance import FLOOR, distance

    largest = max((float(np.abs(value).max()) for value in those.values() if value.size), default=0.0)
    return max((distance(these[key], those[key], FLOOR * largest) for key in those), default=0.0)


def _frozen(name: str, changes: dict[str, Any], images: dict[str, np.ndarray]) -> dict[str, Any]:
    detector = seeded(name, changes, trainable_backbone_layers=1)
    model = LossModel(detector)
    before = {key: ops.convert_to_numpy(variable).copy() for key, variable in variables_of(detector).items()}
    may_change = {id(variable) for layer in _learning_layers(detector) for variable in layer._non_trainable_variables}
    named, after = variables_of(detector), states_after(model, images)
    changed = [key for key, state in after.items() if not np.array_equal(before[key], state)]
    return {
        "learned": list(learned_by(model)),
        "changed_though_frozen": [key for key in changed if id(named[key]) not in may_change],
    }


def _learning_layers(detector: Detector) -> list[Any]:
    from unstall.detectors.layers.conv_norm import list_leaf_layers

    return [layer for layer in list_leaf_layers(detector) if layer.trainable]


def _fitted(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    """A training on one batch, which then meets other numbers of boxes."""
    detector = create_model(name, **changes)
    settings = detector.settings
    traces, at_first = [0], [0]
    terms_of = detector.compute_loss_terms

    def counted(*args: Any, **more: Any) -> Any:
        traces[0] += 1
        return terms_of(*args, **more)

    detector.compute_loss_terms = counted
    batches = [batch(settings.image_size, settings.num_classes, (3, 2))] * STEPS
    batches += [batch(settings.image_size, settings.num_classes, counts) for counts in ((0, 0), (1, 0), (6, 6))]
    step = Step(detector, RULES, len(batches))
    numbers = []
    for each in batches:
        numbers.append(step(each).read())
        at_first[0] = at_first[0] or traces[0]
    return {
        "losses": [each.loss for each in numbers],
        "names": sorted(numbers[0].losses),
        "parts": [sum(each.losses.values()) for each in numbers],
        "steps": STEPS,
        "traces_at_first": at_first[0],
        "traces": traces[0],
    }


def main() -> None:
    for name, changes, out in json.loads(sys.argv[1]):
        facts, arrays = measure(name, changes)
        np.savez(out, facts=np.array(json.dumps(facts)), **arrays)


if __name__ == "__main__":
    main()
