"""The corrected copy: clean afterwards, in the same format, with a list of what was changed; the original untouched."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from tests.data.check.datasets import checked, example, healthy, spoiled
from unstall.base.errors import InvalidInputError
from unstall.data.check.corrected_copy import correct, refuse_unsafe, write_copy
from unstall.data.check.problems import PROBLEMS
from unstall.data.check.runner import Report, check, examine
from unstall.data.formats import FORMATS, read
from unstall.data.synthetic.defects import list_defect_names, list_formats
from unstall.data.synthetic.shapes import Shapes, write_shapes

FIXABLE = [
    (name, format)
    for name in list_defect_names()
    if hasattr(PROBLEMS.module(name), "propose_fixes")
    for format in list_formats(name)
]


def digest(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def report_of(*examples: object) -> Report:
    what = checked(*examples)  # type: ignore[arg-type]
    return Report(what, examine(what, PROBLEMS.names()), 0.0)


@pytest.mark.parametrize(("defect", "format"), FIXABLE, ids=lambda value: value)
def test_what_was_mended_is_gone_from_the_copy(tmp_path: Path, defect: str, format: str) -> None:
    report = spoiled(tmp_path, defect, format)
    before = digest(tmp_path / "set")
    plain = write_copy(report, tmp_path / "copy")
    assert digest(tmp_path / "set") == before, "the original is never touched"
    assert any(change["problem"] == defect for change in plain["changes"])
    after = check(read(tmp_path / "copy", format))
    assert defect not in after.found
    assert not after.has_errors


@pytest.mark.parametrize("format", FORMATS.names())
def test_a_healthy_data_set_is_copied_as_it_is(tmp_path: Path, format: str) -> None:
    report = healthy(tmp_path, format)
    plain = write_copy(report, tmp_path / "copy")
    assert plain["changes"] == [] and plain["left_as_it_was"] == []
    copy = read(tmp_path / "copy", format)
    for one, two in zip(report.checked.data.examples, copy.examples, strict=True):
        assert one.name == two.name
        np.testing.assert_allclose(one.boxes, two.boxes, atol=1e-4)
        assert one.image is not None and two.image is not None and one.image.read() == two.image.read()


def test_the_changes_are_listed_as_json_and_as_text(tmp_path: Path) -> None:
    write_shapes(tmp_path / "set", Shapes(30, 160, 120), "voc", defects=["box_inverted", "image_truncated", "box_tiny"])
    write_copy(check(read(tmp_path / "set")), tmp_path / "copy")
    listed = json.loads((tmp_path / "copy" / "changes.json").read_text())
    assert {change["problem"] for change in listed["changes"]} == {"box_inverted", "image_truncated"}
    assert [left["problem"] for left in listed["left_as_it_was"]] == ["box_tiny"]
    text = (tmp_path / "copy" / "changes.txt").read_text()
    assert "the corners are swapped" in text and "Left as it was:" in text


def test_a_box_with_two_faults_is_mended_of_both(tmp_path: Path) -> None:
    corrected = correct(report_of(example((700, 90, 500, 10), (5, 5, 9, 9))), tmp_path)
    assert corrected.data.examples[0].boxes.tolist() == [[500, 10, 640, 90], [5, 5, 9, 9]]
    assert len(corrected.changes) == 2


def test_boxes_that_are_left_out_take_nothing_with_them(tmp_path: Path) -> None:
    boxes = [(5, 5, 5, 5), (10, 10, 50, 50), (float("nan"), 1, 2, 3), (60, 60, 90, 90), (900, 10, 950, 40)]
    corrected = correct(report_of(example(*boxes, classes=[0, 1, 2, 3, 4])), tmp_path)
    (after,) = corrected.data.examples
    assert after.boxes.tolist() == [[10, 10, 50, 50], [60, 60, 90, 90]] and after.classes.tolist() == [1, 3]
    assert len(corrected.changes) == 3


def test_a_copy_into_the_original_or_over_something_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "set"
    (source / "inner").mkdir(parents=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for target in (
        source,
        source / "inner",
        source / "new",
        tmp_path,
        tmp_path / "full",
        tmp_path / "file",
        source / ".." / "set",
    ):
        with pytest.raises(InvalidInputError, match="Expected"):
            refuse_unsafe(source, target)
    refuse_unsafe(source, tmp_path / "new")


def test_a_link_into_the_original_is_refused(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "set")
    with pytest.raises(InvalidInputError, match="outside the data set"):
        refuse_unsafe(tmp_path / "set", tmp_path / "link" / "copy")


def test_what_cannot_be_mended_is_said_to_be_left(tmp_path: Path) -> None:
    import shutil

    healthy(tmp_path)
    for split in ("train", "val"):
        shutil.rmtree(tmp_path / "set" / split)
    corrected = correct(check(read(tmp_path / "set")), tmp_path)
    assert not corrected.changes and len(corrected.left["image_missing"]) == 2


def test_a_copy_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path) -> None:
    report = healthy(tmp_path)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidInputError, match="Cannot write the corrected copy"):
        write_copy(report, tmp_path / "file" / "copy")
