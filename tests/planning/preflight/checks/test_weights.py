"""Weights that fit, weights of something else, and none."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.planning.preflight.contexts import context
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.detectors.weights import compatibility
from unstall.detectors.weights.formats import safetensors_files
from unstall.planning.preflight.check import CheckError, CheckOk, CheckUnknown, CheckWarning
from unstall.planning.preflight.checks.weights import look


def weights_of(variant: str, folder: Path) -> str:
    path = folder / f"{variant}.safetensors"
    arrays = {name: np.zeros(shape, np.float32) for name, shape in compatibility.list_known_variants()[variant].shapes.items()}
    safetensors_files.write(path, arrays, {})
    return str(path)


def test_weights_of_the_same_detector_fit(tmp_path: Path) -> None:
    found = look(context(tmp_path, weights=weights_of("ssd_tiny", tmp_path)))
    assert isinstance(found, CheckOk) and found.facts["matched"] == found.facts["total"]


def test_weights_of_another_detector_refuse(tmp_path: Path) -> None:
    found = look(context(tmp_path, weights=weights_of("retinanet_tiny", tmp_path)))
    assert isinstance(found, CheckError) and "another network than ssd_tiny" in found.reason


def test_a_network_that_is_changed_is_not_known(tmp_path: Path) -> None:
    path = weights_of("ssd_tiny", tmp_path)
    assert isinstance(look(context(tmp_path, weights=path, detector={"stem_channels": 8})), CheckUnknown)
    assert isinstance(look(context(tmp_path, weights=path, detector={"image_size": [96, 96]})), CheckOk)


def test_a_large_network_without_weights_warns_and_a_tiny_one_fits(tmp_path: Path) -> None:
    assert isinstance(look(context(tmp_path)), CheckOk)
    assert isinstance(look(context(tmp_path, model="retinanet_resnet50_fpn")), CheckWarning)
    assert isinstance(look(context(tmp_path, model="retinanet_resnet50_fpn", synthetic_images=50_000)), CheckOk)


def test_images_that_are_kept_for_scoring_are_not_counted_as_learned_from(tmp_path: Path) -> None:
    """A set with splits of its own is learned from its split 'train' alone; of another one a share is kept apart."""
    large = {"model": "retinanet_resnet50_fpn"}
    write_shapes(tmp_path / "split", Shapes(20, 64, 64), "coco", {"train": 0.5, "val": 0.3, "test": 0.2}, [], None)
    write_shapes(tmp_path / "whole", Shapes(20, 64, 64), "coco", {}, [], None)
    plain = {
        "split": look(context(tmp_path, **large, data=str(tmp_path / "split"))),
        "whole": look(context(tmp_path, **large, data=str(tmp_path / "whole"))),
        "apart": look(context(tmp_path, **large, data=str(tmp_path / "whole"), val_data=str(tmp_path / "split"))),
        "shapes": look(context(tmp_path, **large, synthetic_images=1000, val_split=0.2)),
    }
    found = {name: answer.reason.partition("with ")[2] for name, answer in plain.items()}
    assert found == {
        "split": "10 images to learn from",
        "whole": "18 images to learn from",
        "apart": "20 images to learn from",
        "shapes": "800 images to learn from",
    }
