"""SSD, RetinaNet and Faster R-CNN, in Keras layers and `keras.ops` alone: the same code on TensorFlow, JAX and PyTorch.

A family is a file of this folder that holds one class of `Detector`. Its settings and variants are in the file of the same name
in `unstall.config.detectors`, so that a list of names, or a wrong name, needs no framework.

    detector = create_model("retinanet_resnet50_fpn", num_classes=3, image_size=(640, 960))
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

from unstall.base.errors import MissingDependencyError
from unstall.config.detectors import create_settings, find_family

if TYPE_CHECKING:
    from unstall.detectors.detector import Detector

# A run's precision, as Keras calls it.
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


def create_model(variant: str, **changes: Any) -> Detector:
    """A detector of that variant with fresh weights; `changes` are settings."""
    settings = create_settings(variant, **changes)
    made: Detector = load_detector_class(find_family(variant))(settings, name=variant)
    return made


def load_detector_class(family: str) -> Any:
    from unstall.detectors.detector import Detector

    module = _module(family)
    own = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Detector) and each.__module__ == module.__name__
    ]
    if len(own) != 1:
        raise TypeError(f"{module.__name__}: expected one class of Detector. Received: {[each.__name__ for each in own]}")
    return own[0]


def _module(family: str) -> ModuleType:
    try:
        return importlib.import_module(f"{__name__}.{family}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("unstall"):
            raise
        wanted = f"Detectors need the package {missing.name}. Install Keras with a backend: pip install 'unstall[jax]'"
        raise MissingDependencyError(f"{wanted} (or 'unstall[tensorflow]', 'unstall[torch]').") from missing
