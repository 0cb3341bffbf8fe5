"""Boxes without width or height."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.data.check.datasets import boxes_found, checked, example, found
from unstall.data.check.runner import check
from unstall.data.formats import read


def test_a_point_and_a_line_are_found() -> None:
    what = checked(example((5, 5, 5, 5), (5, 5, 5, 90), (5, 5, 90, 5), (5, 5, 6, 6)))
    assert boxes_found("box_no_area", what) == [("a.jpg", 0), ("a.jpg", 1), ("a.jpg", 2)]


def test_a_tiny_box_and_one_inside_out_are_none() -> None:
    assert not found("box_no_area", checked(example((5, 5, 5.01, 5.01), (9, 9, 5, 5))))


@pytest.mark.skipif("UNSTALL_DATA" not in os.environ, reason="UNSTALL_DATA names no folder with bccd/")
def test_of_the_real_blood_cells_two_boxes_are_found_and_nothing_else_would_break_a_run() -> None:
    report = check(read(Path(os.environ["UNSTALL_DATA"]) / "bccd"))
    places = [(finding.origin.file, finding.origin.line) for finding in report.found["box_no_area"]]
    assert places == [("Annotations/BloodImage_00338.xml", 158), ("Annotations/BloodImage_00343.xml", 50)]
    assert set(report.found) <= {"box_no_area", "box_duplicate"}
    assert len(report.found.get("box_duplicate", [])) <= 8
