"""Weights of a detector, saved and loaded; and a detector built from a file alone.

detector = build_from("weights.safetensors")
fit = load(detector, "retinanet_resnet50_fpn_coco.pth")     what was taken, what was left out and why
save(detector, "weights.safetensors", class_names=("cat", "dog"))
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import keras
import numpy as np

from unstall import detectors
from unstall.base.errors import InvalidInputError
from unstall.config.detectors import create_settings, find_family, list_families, list_variants
from unstall.detectors.detector import Detector
from unstall.detectors.weights.compatibility import Fit, find_best_fit
from unstall.detectors.weights.description import Description, create_description, read_description
from unstall.detectors.weights.formats import safetensors_files
from unstall.detectors.weights.layout import list_slots
from unstall.detectors.weights.names import describe_order, find_order, sort_names
from unstall.detectors.weights.reader import read
from unstall.detectors.weights.tensors import Unreadable
from unstall.storage import resolve_path
from unstall.storage.transfer import open_target


def save(
    detector: Detector,
    path: Path | str,
    class_names: Sequence[str] = (),
    source: str = "",
    trained_on: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Whole or not at all: what stood there before stays until the new file is complete."""
    if class_names and len(class_names) != detector.settings.num_classes:
        raise InvalidInputError(
            f"class_names: expected {detector.settings.num_classes}, one for each class. Received: {len(class_names)}"
        )
    arrays = {
        key: np.ascontiguousarray(slot.to_torch(keras.ops.convert_to_numpy(slot.variable)))
        for key, slot in list_slots(detector).items()
    }
    description = Description(
        variant=detector.name if detector.name in list_variants() else "",
        detector=type(detector).__module__.rpartition(".")[2],
        settings=asdict(detector.settings),
        class_names=tuple(class_names),
        source=source,
        trained_on=dict(trained_on),
    )
    write(path, arrays, description)


def write(path: Path | str, arrays: dict[str, Any], description: Description) -> None:
    try:
        with open_target(resolve_path(path)) as local:
            safetensors_files.write(local, arrays, description.as_metadata())
    except OSError as error:
        raise InvalidInputError(f"Cannot write the weights to '{path}': {error.strerror or error}.") from None


def load(detector: Detector, path: Path | str, class_names: Sequence[str] = ()) -> Fit:
    """Takes from any file of weights what fits the detector, and says what did not. A file of something else is refused. Where
    the detector's `class_names` are given, and the file has names, too, each class takes the outputs of that name."""
    checkpoint = read(path)
    tensors = checkpoint.tensors
    places = list_slots(detector)
    fit = find_best_fit(tensors, {key: slot.shape for key, slot in places.items()})
    if not fit.is_of_this:
        raise InvalidInputError(
            f"'{path}' does not fit {detector.name}: {len(fit.taken)} of its {len(places)} tensors are there with their shape. "
            f"What it would fit: unstall weights import {shlex.quote(str(path))}"
        )
    theirs = create_description(checkpoint).class_names if class_names and checkpoint.written_by == "Unstall" else ()
    order = find_order(theirs, class_names)
    fit.note = "" if order is None else describe_order(order, class_names)
    try:
        for key, name in fit.taken.items():
            slot, array = places[key], tensors[name].read()
            if order is not None:
                array = sort_names(key, array, slot.to_torch(keras.ops.convert_to_numpy(slot.variable)), order)
            slot.variable.assign(np.ascontiguousarray(slot.to_ours(array), np.float32))
    except (Unreadable, OSError) as error:
        raise InvalidInputError(f"'{path}' cannot be read as weights. {error}") from None
    return fit


def build_from(path: Path | str, may_be_partial: bool = False, **changes: Any) -> Detector:
    """The detector that a weights file of Unstall is of. `changes` to its settings, such as `image_size`, come last."""
    _, description = read_description(path)
    if description.holds != "detector" and not may_be_partial:
        lacking = "heads are" if description.holds == "backbone" else "class outputs are"
        raise InvalidInputError(
            f"'{path}' is of a {description.variant} whose {lacking} not trained: it would find nothing. Train it first."
        )
    detector = _built(path, description, changes)
    missing = load(detector, path).new
    if missing and not may_be_partial:
        name, why = next(iter(missing.items()))
        raise InvalidInputError(f"'{path}' is not whole: {len(missing)} tensors are missing, the first is '{name}': {why}.")
    return detector


def _built(path: Path | str, description: Description, changes: dict[str, Any]) -> Detector:
    """By its variant; a detector of settings that are no variant's by its family, whose settings the file has all of."""
    variant = description.variant
    if variant not in list_variants():
        if description.detector not in list_families():
            known = ", ".join(list_variants())
            raise InvalidInputError(
                f"'{path}' is of '{variant or description.detector}', which is no detector here. Variants: {known}."
            )
        variant = list_families()[description.detector][0]
    try:
        settings = create_settings(variant, **{**description.settings, **changes})
        family = find_family(variant)
        names = len(description.class_names)
        if names not in {0, settings.num_classes} and "num_classes" not in changes:
            raise InvalidInputError(f"it has {names} class_names, and {settings.num_classes} classes. Expected as many.")
        made: Detector = detectors.load_detector_class(family)(settings, name=description.variant or family)
    except (TypeError, ValueError, InvalidInputError) as error:
        raise InvalidInputError(f"'{path}': a detector cannot be built from its settings: {error}") from None
    return made
