"""Checking a whole data set: the order of what is found, the plain data, the speed of the columns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.data.check.datasets import checked, example, healthy, spoiled
from unstall.data.check.context import Severity
from unstall.data.check.problems import PROBLEMS
from unstall.data.check.runner import as_plain, check, examine, get_severity
from unstall.data.formats import read
from unstall.data.synthetic.shapes import Shapes, write_shapes


def test_the_gravest_come_first(tmp_path: Path) -> None:
    write_shapes(tmp_path / "set", Shapes(30, 160, 120), defects=["box_tiny", "box_duplicate", "box_no_area", "image_grey"])
    found = list(check(read(tmp_path / "set")).found)
    assert [get_severity(problem) for problem in found] == sorted((get_severity(p) for p in found), key=list(Severity).index)
    assert get_severity(found[0]) is Severity.ERROR and get_severity(found[-1]) is Severity.INFO


def test_a_finding_names_file_line_and_box(tmp_path: Path) -> None:
    report = spoiled(tmp_path, "box_no_area", "yolo")
    (finding,) = report.found["box_no_area"]
    lines = (tmp_path / "set" / finding.origin.file).read_text().splitlines()
    assert finding.origin.line == 1 and lines[0].endswith(" 0.0 0.0")


def test_the_report_is_plain_data(tmp_path: Path) -> None:
    plain = as_plain(spoiled(tmp_path, "box_not_finite"))
    assert json.loads(json.dumps(plain)) == plain
    (problem,) = plain["problems"]
    assert problem["problem"] == "box_not_finite" and problem["count"] == 1 and plain["has_errors"]
    assert problem["findings"][0]["field"].startswith("images[")


def test_progress_counts_up_to_all(tmp_path: Path) -> None:
    rows: list[tuple[str, int, int]] = []
    healthy(tmp_path)
    check(read(tmp_path / "set"), progress=lambda doing, done, of: rows.append((doing, done, of)))
    assert ("looking at images", 30, 30) in rows
    assert rows[-1] == ("examining", len(PROBLEMS.names()), len(PROBLEMS.names()))


def test_without_images_and_with_none_there_their_absence_is_no_finding(tmp_path: Path) -> None:
    import shutil

    healthy(tmp_path)
    for split in ("train", "val"):
        shutil.rmtree(tmp_path / "set" / split)
    data = read(tmp_path / "set")
    assert "image_missing" in check(data).found
    assert not check(data, with_images=False).found


def test_of_nothing_nothing_is_said_but_that_it_is_nothing() -> None:
    assert not examine(checked(), PROBLEMS.names())
    assert set(examine(checked(example(), classes=()), PROBLEMS.names())) == {"boxes_missing"}


def test_no_problem_walks_over_boxes_one_by_one() -> None:
    """200,000 healthy boxes: a loop over them in Python would make this test last minutes."""
    random = np.random.default_rng(0)
    cells = np.array([(60 * column, 45 * row) for row in range(10) for column in range(10)], np.float64)
    examples = []
    for row in range(2000):
        corners = cells + random.uniform(0, 20, (100, 2))
        boxes = np.concatenate([corners, corners + random.uniform(10, 25, (100, 2))], axis=1)
        examples.append(example(*boxes, name=f"{row}.jpg"))
    what = checked(*examples)
    for name in PROBLEMS.names():
        assert not PROBLEMS.module(name).examine(what), name
