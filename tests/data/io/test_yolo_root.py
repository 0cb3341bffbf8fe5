"""A data.yaml that is kept apart from its images, as Ultralytics keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.dataset_files import finding, picture, problems, put
from tests.data.formats.test_yolo import BOX, pairs
from unstall.base.errors import InvalidInputError
from unstall.data import formats

NAMES = "names: [cat]\n"


def in_separate_folders(tmp_path: Path, yaml: str) -> Path:
    images = pairs("datasets/mine/images/train/a", "datasets/mine/images/val/b")
    put(tmp_path, images | {"config/mine.yaml": yaml.format(root=tmp_path) + NAMES})
    return tmp_path / "config" / "mine.yaml"


@pytest.mark.parametrize(
    "yaml",
    [
        "path: {root}/datasets/mine\ntrain: images/train\nval: images/val\n",
        "path: ../datasets/mine\ntrain: images/train\nval: images/val\n",
        "path: datasets/mine # from where the command is typed\ntrain: images/train\nval: images/val\n",
        "train: ../datasets/mine/images/train\nval: ../datasets/mine/images/val\n",
        "train: {root}/datasets/mine/images/train\nval: [{root}/datasets/mine/images/val]\n",
    ],
)
def test_images_are_where_it_leads_when_the_file_itself_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, yaml: str
) -> None:
    monkeypatch.chdir(tmp_path)
    data = formats.read(in_separate_folders(tmp_path, yaml))
    assert [(example.split, example.count) for example in data.examples] == [("train", 1), ("val", 1)]
    assert [example.origin.file for example in data.examples] == ["labels/train/a.txt", "labels/val/b.txt"]
    assert problems(data) == []


def test_images_beside_it_are_taken_rather_than_those_of_its_path(tmp_path: Path) -> None:
    yaml = f"path: {tmp_path}/elsewhere\ntrain: images/train\n{NAMES}"
    put(tmp_path, pairs("here/images/train/a", "elsewhere/images/train/b") | {"here/data.yaml": yaml})
    assert [example.name for example in formats.read(tmp_path / "here/data.yaml").examples] == ["a.jpg"]


def test_of_a_folder_nothing_outside_is_read_and_the_way_is_said(tmp_path: Path) -> None:
    file = in_separate_folders(tmp_path, "path: {root}/datasets/mine\ntrain: images/train\nval: images/val\n")
    with pytest.raises(InvalidInputError) as refused:
        formats.read(file.parent)
    assert f"its mine.yaml leads to '{tmp_path}/datasets/mine'. Name the file itself, or that folder." in str(refused.value)


@pytest.mark.parametrize("yaml", ["train: /\n", "path: /\ntrain: .\n"])
def test_the_whole_machine_is_no_data_set(tmp_path: Path, yaml: str) -> None:
    with pytest.raises(InvalidInputError, match=r"Nothing of .* can be read|There is no image"):
        formats.read(in_separate_folders(tmp_path, yaml))


def test_a_path_of_another_machine_is_named_beside_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as refused:
        formats.read(in_separate_folders(tmp_path, "path: /content/mine\ntrain: images/train\n"))
    assert "train: 'images/train' is not there, and neither is 'path', '/content/mine'." in str(refused.value)


def test_a_test_split_that_an_export_names_without_having_it_is_no_fault(tmp_path: Path) -> None:
    yaml = f"train: ../train/images\nval: ../valid/images\ntest: ../test/images\n{NAMES}"
    put(tmp_path, pairs("train/images/a", "valid/images/b") | {"data.yaml": yaml})
    assert problems(formats.read(tmp_path)) == []
    put(tmp_path, {"data.yaml": yaml.replace("valid", "validation")})
    assert "data.yaml: val: '../validation/images'" in finding(formats.read(tmp_path), "path_climbs_out")


def test_labels_are_found_whatever_the_case_of_their_folder_and_beside_images_in_a_folder_images(tmp_path: Path) -> None:
    yaml = f"train: Train/Images\nval: images\n{NAMES}"
    files = {"Train/Images/a.jpg": picture(), "Train/Labels/a.txt": BOX, "images/b.jpg": picture(), "images/b.txt": BOX}
    data = formats.read(put(tmp_path, files | {"data.yaml": yaml}))
    assert [(example.origin.file, example.count) for example in data.examples] == [("Train/Labels/a.txt", 1), ("images/b.txt", 1)]
    assert problems(data) == []
