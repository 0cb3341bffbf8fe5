"""Numbers of classes with gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("label_map_gaps"))
def test_it_is_found_in_the_list_of_classes(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "label_map_gaps", format)
    origin = report.found["label_map_gaps"][0].origin
    assert origin.file in report.checked.data.files


@pytest.mark.parametrize("format", ["coco", "tfrecord", "voc", "yolo"])
def test_a_proper_list_is_none(tmp_path: Path, format: str) -> None:
    assert "label_map_gaps" not in healthy(tmp_path, format).found


def test_the_numbers_of_coco_itself_are_none(tmp_path: Path) -> None:
    import json

    from unstall.data.check.runner import check
    from unstall.data.formats import read

    healthy(tmp_path)
    for path in (tmp_path / "set" / "annotations").iterdir():
        content = json.loads(path.read_text())
        for entry in (*content["categories"], *content["annotations"]):
            entry.update(
                {key: 15 * entry[key] for key in ("id", "category_id") if key in entry and ("name" in entry or key != "id")}
            )
        path.write_text(json.dumps(content))
    report = check(read(tmp_path / "set"))
    assert report.checked.data.class_numbers == (15, 30, 45, 60, 75, 90)
    assert not report.found
