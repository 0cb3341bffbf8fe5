"""Every defect, in every format that can have it, is found; and data sets without one are silent, whatever their shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.base.errors import InvalidInputError
from unstall.data.check.context import Severity
from unstall.data.check.problems import PROBLEMS
from unstall.data.check.runner import check, get_severity
from unstall.data.formats import FORMATS, read
from unstall.data.synthetic.defects import list_defect_names, list_formats
from unstall.data.synthetic.shapes import Shapes, write_shapes

GIVEN = [(defect, format) for defect in list_defect_names() for format in list_formats(defect)]
# What a defect brings with it, by its nature.
BRINGS = {
    ("image_16_bit", "tfrecord"): {"encodings_mixed", "image_grey"},
    ("image_unreadable", "tfrecord"): {"encodings_mixed"},
    ("label_map_background", "tfrecord"): {"label_map_gaps"},
    ("label_map_duplicates", "tfrecord"): {"label_map_gaps", "class_out_of_range"},
    ("label_map_gaps", "yolo"): {"class_out_of_range", "class_unused"},
}
BRINGS_ANYWHERE = {
    "boxes_missing": {"annotation_empty"},
    "image_16_bit": {"image_grey"},
    "label_map_background": {"class_unused"},
    "label_map_duplicates": {"class_unused"},
}


def test_every_problem_can_be_injected() -> None:
    assert list_defect_names() == PROBLEMS.names()
    assert all(list_formats(defect) for defect in list_defect_names())


@pytest.mark.parametrize(("defect", "format"), GIVEN, ids=lambda value: value)
def test_an_injected_defect_is_found_and_called_by_no_other_name(tmp_path: Path, defect: str, format: str) -> None:
    found = set(spoiled(tmp_path, defect, format).found)
    assert defect in found
    assert found - {defect} <= BRINGS.get((defect, format), set()) | BRINGS_ANYWHERE.get(defect, set())


@pytest.mark.parametrize("format", FORMATS.names())
@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"count": 1},
        {"count": 200, "width": 64, "height": 64, "seed": 3},
        {"width": 120, "height": 480},
        {"width": 1000, "height": 100, "most": 40},
        {"count": 8, "width": 1280, "height": 960},
    ],
    ids=str,
)
def test_healthy_data_sets_of_every_shape_are_silent(tmp_path: Path, format: str, shape: dict[str, int]) -> None:
    found = healthy(tmp_path, format, **shape).found
    loud = {problem: findings[:3] for problem, findings in found.items() if problem != "class_unused"}
    assert not loud  # one image cannot have every class


@pytest.mark.parametrize("format", FORMATS.names())
def test_without_images_a_healthy_data_set_is_silent_too(tmp_path: Path, format: str) -> None:
    healthy(tmp_path, format)
    assert not check(read(tmp_path / "set"), with_images=False).found


def test_several_defects_do_not_hide_each_other(tmp_path: Path) -> None:
    wanted = ["box_inverted", "box_not_finite", "class_unknown", "image_missing", "image_truncated", "path_case_differs"]
    write_shapes(tmp_path / "set", Shapes(40, 160, 120), "coco", defects=wanted)
    assert sorted(check(read(tmp_path / "set")).found) == wanted


def test_a_defect_that_a_format_cannot_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot have the defect 'record_crc_wrong'\. These can: tfrecord"):
        write_shapes(tmp_path / "set", Shapes(4), "coco", defects=["record_crc_wrong"])
    with pytest.raises(InvalidInputError, match="There is no defect 'box_purple'"):
        write_shapes(tmp_path / "set", Shapes(4), "coco", defects=["box_purple"])
    with pytest.raises(InvalidInputError, match="too few images"):
        write_shapes(tmp_path / "other", Shapes(1), "coco", {}, ["box_duplicate", "box_tiny"])


def test_notes_alone_do_not_break() -> None:
    notes = [problem for problem in PROBLEMS.names() if get_severity(problem) is Severity.INFO]
    assert {"annotation_empty", "box_tiny", "class_unused", "image_grey", "label_map_gaps"} <= set(notes)
