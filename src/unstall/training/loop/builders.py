"""What the first step needs, made from the settings: data, detector, weights, pipeline."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall import detectors
from unstall.base.errors import InvalidInputError
from unstall.config.detectors import settings_of
from unstall.config.settings import Settings
from unstall.data.augment.names import augmentations
from unstall.data.example import DataSet
from unstall.data.pipeline import Pipeline
from unstall.data.pipeline import Settings as PipelineSettings
from unstall.detectors.detector import Detector
from unstall.detectors.weights import store
from unstall.detectors.weights.compatibility import group_reasons
from unstall.detectors.weights.description import description_of
from unstall.detectors.weights.reader import read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OF_THE_RUN = ("classes", "precision", "remat")  # settings of a detector that are not its own while it is trained


Needed = dict[str, Any] | None  # settings that weights of a file need; None: the file is looked at


def detector_settings(settings: Settings, classes: int | None = None, needed: Needed = None) -> dict[str, Any]:
    """What `detectors.build` takes beside the name of the model. `classes`: of the data; None: as the variant has."""
    for name in OF_THE_RUN:
        if name in settings.detector:
            said = "the data says how many there are" if name == "classes" else f"expected as the setting '{name}' of the run"
            raise InvalidInputError(f"detector.{name}: {said}.")
    changes = {**(needed_by_weights(settings) if needed is None else needed), **settings.detector}
    changes |= {"precision": detectors.POLICIES[settings.precision], "remat": settings.remat}
    return changes if classes is None else {**changes, "classes": classes}


def image_px(settings: Settings, needed: Needed = None) -> tuple[int, int]:
    """Height and width that the detector takes."""
    height, width = settings_of(settings.model, **detector_settings(settings, needed=needed)).image_px
    return height, width


def build_detector(settings: Settings, classes: Sequence[str], say: Callable[[str], None], needed: Needed = None) -> Detector:
    """With its first weights: those of a file, and for the rest those that the seed gives. A run that goes on says what they
    needed, and has its own: the file may be gone by then."""
    # Weights are drawn by Python's own generator (parts/starts.py); Keras's way to seed it would load TensorFlow on any backend.
    random.seed(settings.seed)
    detector = detectors.build(settings.model, **detector_settings(settings, len(classes), needed))
    if settings.weights is not None and needed is None:
        for line in _loaded(detector, settings.weights, classes):
            say(line)
    return detector


def _loaded(detector: Detector, path: str, classes: Sequence[str]) -> list[str]:
    """The report: what was taken, what was left out and why, what begins fresh."""
    fit = store.load(detector, path, classes)
    lines = [f"weights: {len(fit.taken)} of {fit.wanted} tensors taken from {Path(path).name}, as {fit.what}"]
    lines += [f"weights: {fit.note}"] if fit.note else []
    new = {key: why for key, why in fit.new.items() if why not in fit.left_out.values()}  # else it is said already
    for kind, reasons in (("left out", fit.left_out), ("new", new)):
        for group in group_reasons(reasons):
            names = group["names"][0] + (" …" if group["count"] > 1 else "")
            lines.append(f"weights: {group['count']} {kind}, {group['why']}: {names}")
    return lines


def needed_by_weights(settings: Settings) -> dict[str, Any]:
    """A published file may have been trained with norms of another epsilon: it says so itself, and would be worse without."""
    if settings.weights is None:
        return {}
    checkpoint = read(settings.weights)
    if checkpoint.written_by != "Unstall":
        return {}
    description = description_of(checkpoint)
    if description.variant != settings.model or "norm_epsilon" not in description.settings:
        return {}
    return {"norm_epsilon": description.settings["norm_epsilon"]}


def pipeline(settings: Settings, detector: Detector, data: DataSet, worker: int = 0) -> Pipeline:
    """Of that worker's part of each batch."""
    height, width = detector.settings.image_px
    beyond = [row for row in settings.exclude_examples if not 0 <= row < len(data.examples)]
    if beyond:
        raise InvalidInputError(f"exclude_examples: expected numbers from 0 to {len(data.examples) - 1}. Received: {beyond[0]}")
    if len(data.examples) < settings.batch_size:
        raise InvalidInputError(
            f"batch_size: expected at most as many images as there are to learn from, {len(data.examples)}. "
            f"Received: {settings.batch_size}"
        )
    return Pipeline(
        data,
        PipelineSettings(
            batch_size=settings.batch_share,
            worker=worker,
            workers=settings.num_workers,
            height_px=height,
            width_px=width,
            resize=detector.resize,
            max_boxes_per_image=settings.max_boxes_per_image,
            augmentations=augmentations(settings.augmentations),
            seed=settings.seed,
            num_input_workers=settings.num_input_workers,
            prefetch_bytes=settings.prefetch_bytes,
            cache_bytes=settings.cache_bytes,
            cache_dir=Path(settings.cache_dir) if settings.cache_dir else None,
            max_bad_fraction=settings.max_bad_fraction,
        ),
        never=settings.exclude_examples,
    )
