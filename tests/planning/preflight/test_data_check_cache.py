"""What a check of the data has found is remembered, for as long as the data is what it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.data.dataset_files import coco_box, coco_image, coco_text, picture, put
from tests.data.formats.test_yolo import BOX, pairs
from unstall.config.settings import Settings
from unstall.data import formats
from unstall.planning.preflight.data_check_cache import name_of


def changed(file: Path) -> None:
    """Its time alone: content of the same length."""
    os.utime(file, ns=(1, 1))


@pytest.mark.parametrize("named", ["", "data.yaml"])
@pytest.mark.parametrize("file", ["labels/a.txt", "images/a.jpg", "data.yaml"])
def test_a_file_that_changes_is_looked_at_again_whether_the_folder_or_its_yaml_was_named(
    tmp_path: Path, named: str, file: str
) -> None:
    path = put(tmp_path, pairs("images/a", text=BOX) | {"data.yaml": "train: images\nnames: [cat]\n"}) / named
    before = name_of(formats.read(path), Settings())
    assert name_of(formats.read(path), Settings()) == before
    changed(tmp_path / file)
    assert name_of(formats.read(path), Settings()) != before


def test_the_same_of_a_coco_file_in_its_folder(tmp_path: Path) -> None:
    text = coco_text([coco_image(1, "a.jpg")], [coco_box(1)], [{"id": 1, "name": "cat"}])
    path = put(tmp_path, {"annotations/instances.json": text, "images/a.jpg": picture()}) / "annotations/instances.json"
    before = name_of(formats.read(path), Settings())
    changed(path)
    assert name_of(formats.read(path), Settings()) != before
