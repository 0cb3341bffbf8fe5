"""SSD: it conforms on every backend, does with outputs what the reference does, and is the published network."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.detectors import ssd_checks
from tests.detectors.conformance import BACKENDS, CHECKS, Measured, Subject
from unstall.detectors.parts.anchors import default_boxes

ROOT = Path(__file__).parents[2]
# Boxes of all levels must be objects, or the heads of some level would have nothing to learn from
TINY = Subject("ssd_tiny", {"image_px": [96, 128], "width": 8, "foreground_iou": 0.1})


@BACKENDS
@CHECKS
def test_it_conforms(check: Callable[[Measured], None], backend: str, request: pytest.FixtureRequest) -> None:
    check(TINY.measured(backend, request.config.cache))


@BACKENDS
@pytest.mark.parametrize("check", [check.__name__ for check in ssd_checks.CHECKS])
def test_of_outputs(check: str, backend: str) -> None:
    wrong = outcome("ssd_checks", backend)[check]
    assert not wrong, wrong


def names_of_network_checks() -> list[str]:
    """Without importing the file, which imports PyTorch."""
    tree = ast.parse((ROOT / "tests/detectors/ssd_network_checks.py").read_text(encoding="utf-8"))
    (names,) = (node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CHECKS")
    assert isinstance(names, ast.Tuple)
    return [ast.unparse(name) for name in names.elts]


@pytest.mark.torch
@pytest.mark.parametrize("check", names_of_network_checks())
def test_of_the_network(check: str) -> None:
    wrong = outcome("ssd_network_checks", "torch")[check]
    assert not wrong, wrong


@cache
def outcome(module: str, backend: str) -> dict[str, str]:
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = f"{ROOT}:{ROOT / 'src'}"
    command = [sys.executable, "-m", f"tests.detectors.{module}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return result


# --- default boxes: NumPy alone ---


def test_the_default_boxes_of_one_cell() -> None:
    """By hand: sides of 0.15 of 15 px, of the root of 0.15 · 0.9, and of 0.15 stretched by the root of 2 either way."""
    boxes = default_boxes((15, 15), [(1, 1)], [0.15, 0.9], [[2.0]], [None])
    wanted = [
        [6.375, 6.375, 8.625, 8.625],
        [4.7443, 4.7443, 10.2557, 10.2557],
        [5.909, 6.7045, 9.091, 8.2955],
        [6.7045, 5.909, 8.2955, 9.091],
    ]
    assert np.allclose(boxes, wanted, atol=1e-4)


def test_default_boxes_stand_a_step_apart_and_are_wider_on_a_wide_image() -> None:
    boxes = default_boxes((40, 80), [(5, 10), (2, 3)], [0.1, 0.2, 0.4], [[2.0], []], [8, None])
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    sides = boxes[:, 2:] - boxes[:, :2]
    assert len(boxes) == 5 * 10 * 4 + 2 * 3 * 2
    assert np.allclose(
        centres[[0, 4, 40]], [[4, 4], [12, 4], [4, 12]]
    )  # four boxes of a cell, then the next column, then the next row
    assert np.allclose(centres[[200, 202, 206]], [[80 / 6, 10], [40, 10], [80 / 6, 30]], atol=1e-4)  # spread over the image
    assert np.allclose(sides[0], [8, 4]) and np.allclose(sides[200], [16, 8])


def test_sides_of_default_boxes_end_at_the_images_but_boxes_may_lie_across_its_border() -> None:
    boxes = default_boxes((100, 100), [(2, 2)], [0.9, 1.2], [[2.0]], [None])
    assert np.isclose((boxes[:, 2:] - boxes[:, :2]).max(), 100)
    assert boxes.min() < 0 and boxes.max() > 100
