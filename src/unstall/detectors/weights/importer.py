"""A published checkpoint becomes a weights file of Unstall: what it is of is recognised by the names and shapes of its tensors.

Needs no framework: the shapes of every variant are known (shapes.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unstall.base.errors import InvalidInputError
from unstall.detectors.weights import compatibility
from unstall.detectors.weights.compatibility import Fit, count_classes, find_best_fit, group_reasons, with_classes
from unstall.detectors.weights.description import Description
from unstall.detectors.weights.formats import safetensors_files
from unstall.detectors.weights.names import COUNTER
from unstall.detectors.weights.reader import Checkpoint, read
from unstall.detectors.weights.tensors import Tensors, Unreadable
from unstall.storage import resolve_path
from unstall.storage.transfer import open_target

# Published for COCO by a version whose norms had no epsilon: torchvision sets it to 0 when it loads these two.
WITHOUT_EPSILON = ("fasterrcnn_resnet50_fpn", "retinanet_resnet50_fpn")
VGG_NOTE = (
    "SSD takes pixels whose deviation is not divided out, as torchvision's file IMAGENET1K_FEATURES does; "
    "IMAGENET1K_V1 was trained with it divided out, and is a worse start"
)


@dataclass(frozen=True)
class ImportedWeights:
    checkpoint: Checkpoint
    fit: Fit
    description: Description
    classes: int
    also_fits: tuple[str, ...]  # other variants, for which a backbone would do as well

    @property
    def is_pytorchs_vgg(self) -> bool:
        return self.fit.what == "a VGG" and self.checkpoint.written_by != "Keras"

    def arrays(self) -> dict[str, Any]:
        """In float32, whatever the file had."""
        try:
            return {key: np.asarray(self.checkpoint.tensors[name].read(), np.float32) for key, name in self.fit.taken.items()}
        except (Unreadable, OSError) as error:
            raise InvalidInputError(f"'{self.checkpoint.path}' cannot be read as weights. {error}") from None

    def as_plain(self) -> dict[str, Any]:
        """The report."""
        taken = [
            {"tensor": key, "from": name, "shape": list(self.checkpoint.tensors[name].shape)}
            for key, name in self.fit.taken.items()
        ]
        return {
            "file": str(self.checkpoint.path),
            "written_by": self.checkpoint.written_by,
            "is": self.fit.what,
            **self.description.as_plain(),
            "classes": self.classes,
            "numbers_taken": sum(math.prod(row["shape"]) for row in taken),  # type: ignore[arg-type]
            "taken": taken,
            "left_out": group_reasons(self.fit.left_out),
            "new": group_reasons(self.fit.new),
            "notes": [*self.checkpoint.notes, *([VGG_NOTE] if self.is_pytorchs_vgg else [])],
            "also_fits": list(self.also_fits),
        }


def import_file(
    path: Path | str, variant: str | None = None, classes: int | None = None, norm_epsilon: float | None = None
) -> ImportedWeights:
    """`classes` without background; other than in the file, the head begins fresh."""
    return import_checkpoint(read(path), variant, classes, norm_epsilon)


def import_checkpoint(
    checkpoint: Checkpoint, variant: str | None = None, classes: int | None = None, norm_epsilon: float | None = None
) -> ImportedWeights:
    tensors = checkpoint.tensors
    if variant is not None and variant not in compatibility.list_known_variants():
        raise InvalidInputError(f"There is no variant '{variant}'. Variants: {', '.join(compatibility.list_known_variants())}.")
    fits = {name: _held_against(tensors, name) for name in compatibility.list_known_variants()}
    chosen = _chosen(checkpoint, fits, variant)
    known, there = compatibility.list_known_variants()[chosen], fits[chosen]
    own_classes = count_classes(tensors, known.shapes, known.classes, there) if not there.is_backbone else None
    count = classes if classes is not None else own_classes if own_classes is not None else known.classes
    fit = find_best_fit(tensors, with_classes(known.shapes, known.classes, count))
    settings: dict[str, Any] = {"num_classes": count}
    epsilon = norm_epsilon if norm_epsilon is not None else _epsilon(chosen, tensors, fit, own_classes)
    if epsilon is not None:
        settings["norm_epsilon"] = epsilon
    description = Description(
        variant=chosen,
        settings=settings,
        class_names=NAMES if own_classes == count == len(NAMES) else (),
        source=checkpoint.path.name,
        holds="backbone" if not fit.is_whole else "headless" if fit.new else "detector",
    )
    others = tuple(name for name, each in fits.items() if name != chosen and each.is_backbone and each.is_of_this)
    return ImportedWeights(checkpoint, fit, description, count, others)


def _held_against(tensors: Tensors, variant: str) -> Fit:
    """With as many classes as the file has, so that a detector trained for others is still recognised."""
    known = compatibility.list_known_variants()[variant]
    fit = find_best_fit(tensors, known.shapes)
    own = count_classes(tensors, known.shapes, known.classes, fit)
    return fit if own is None else find_best_fit(tensors, with_classes(known.shapes, known.classes, own))


def _chosen(checkpoint: Checkpoint, fits: dict[str, Fit], variant: str | None) -> str:
    nearest = max(fits, key=lambda name: (len(fits[name].taken), -len(fits[name].left_out), -len(fits[name].new)))
    best = fits[nearest]
    if not best.taken:
        raise InvalidInputError(
            f"'{checkpoint.path}' fits no detector: none of its {len(checkpoint.tensors)} tensors has a name and shape of "
            f"theirs.{_first_difference(best)} Detectors: {', '.join(fits)}."
        )
    if not best.is_of_this:
        raise InvalidInputError(
            f"'{checkpoint.path}' fits no detector. The nearest is {nearest}: {len(best.taken)} of its {best.wanted} tensors are "
            f"there with their shape.{_first_difference(best)}"
        )
    if variant is not None and fits[variant].is_of_this:
        return variant
    if variant is not None:
        raise InvalidInputError(
            f"'{checkpoint.path}' does not fit {variant}: {len(fits[variant].taken)} of {fits[variant].wanted} tensors are there "
            f"with their shape.{_first_difference(fits[variant])} It fits {nearest}: {len(best.taken)} of {best.wanted}."
        )
    fitting = [name for name, fit in fits.items() if fit.is_of_this and fit.is_backbone]
    if best.is_backbone and len(fitting) > 1:
        raise InvalidInputError(
            f"'{checkpoint.path}' is {best.what}, a backbone for several: {', '.join(fitting)}. Say which with --variant."
        )
    return nearest


def _first_difference(fit: Fit) -> str:
    for name, why in fit.left_out.items():
        if why.startswith("shapes differ"):
            return f" '{name}': {why}."
    unknown = next((name for name, why in fit.left_out.items() if why.startswith("no such")), None)
    return f" It has '{unknown[:80]}', for which there is no place." if unknown else ""


def _epsilon(variant: str, tensors: Tensors, fit: Fit, own_classes: int | None) -> float | None:
    """0 for the two files that need it: detectors of COCO's classes, with norms that were never trained and count no batches."""
    is_frozen = not any(name.endswith(COUNTER) for name in tensors)
    is_coco = own_classes == len(NAMES)
    return 0.0 if variant in WITHOUT_EPSILON and is_frozen and is_coco and not fit.is_backbone else None


def name_classes(imported: ImportedWeights, names_file: str) -> ImportedWeights:
    """With the names of the classes, from a file that has one in each line."""
    try:
        lines = resolve_path(names_file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise InvalidInputError(f"'{names_file}' cannot be read: {error}.") from None
    names = tuple(line.strip() for line in lines if line.strip())
    if len(names) != imported.classes:
        raise InvalidInputError(
            f"'{names_file}': expected {imported.classes} names, a line for each class. Received: {len(names)}"
        )
    return replace(imported, description=replace(imported.description, class_names=names))


def write(imported: ImportedWeights, path: Path | str) -> None:
    try:
        with open_target(resolve_path(path)) as local:
            safetensors_files.write(local, imported.arrays(), imported.description.as_metadata())
    except OSError as error:
        raise InvalidInputError(f"Cannot write the weights to '{path}': {error.strerror or error}.") from None


# The names of COCO's 90 category numbers, as the published detectors count them; ten numbers were never given.


_WRITTEN = """
    person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, N/A, stop sign,
    parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, N/A, backpack, umbrella, N/A,
    N/A, handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard,
    surfboard, tennis racket, bottle, N/A, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange,
    broccoli, carrot, hot dog, pizza, donut, cake, chair, couch, potted plant, bed, N/A, dining table, N/A, N/A, toilet,
    N/A, tv, laptop, mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, refrigerator, N/A, book, clock,
    vase, scissors, teddy bear, hair drier, toothbrush
"""
NAMES = tuple(name.strip() for name in _WRITTEN.split(","))
