"""Weights that fit, weights of something else, and none."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.preflight.contexts import context
from unstall.detectors.weights import safetensors_files, shapes
from unstall.preflight.answers import Fits, Refuses, Unknown, Warns
from unstall.preflight.checks.weights import look


def weights_of(variant: str, folder: Path) -> str:
    path = folder / f"{variant}.safetensors"
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.known()[variant].shapes.items()}
    safetensors_files.write(path, arrays, {})
    return str(path)


def test_weights_of_the_same_detector_fit(tmp_path: Path) -> None:
    found = look(context(tmp_path, weights=weights_of("ssd_tiny", tmp_path)))
    assert isinstance(found, Fits) and found.facts["taken"] == found.facts["of"]


def test_weights_of_another_detector_refuse(tmp_path: Path) -> None:
    found = look(context(tmp_path, weights=weights_of("retinanet_tiny", tmp_path)))
    assert isinstance(found, Refuses) and "another network than ssd_tiny" in found.reason


def test_a_network_that_is_changed_is_not_known(tmp_path: Path) -> None:
    path = weights_of("ssd_tiny", tmp_path)
    assert isinstance(look(context(tmp_path, weights=path, detector={"width": 8})), Unknown)
    assert isinstance(look(context(tmp_path, weights=path, detector={"image_px": [96, 96]})), Fits)


def test_a_large_network_without_weights_warns_and_a_tiny_one_fits(tmp_path: Path) -> None:
    assert isinstance(look(context(tmp_path)), Fits)
    assert isinstance(look(context(tmp_path, model="retinanet_resnet50_fpn")), Warns)
    assert isinstance(look(context(tmp_path, model="retinanet_resnet50_fpn", shapes=50_000)), Fits)
