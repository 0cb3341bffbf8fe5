"""YOLO data sets as people and tools write them, whole and broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.data.dataset_files import finding, picture, problems, put
from unstall.base.errors import InvalidInputError
from unstall.data import formats
from unstall.data.check.context import find_box_origin
from unstall.data.io.yolo_files import locate_label_file

BOX = "0 0.5 0.5 0.25 0.5\n"


def pairs(*names: str, text: str = BOX) -> dict[str, str | bytes]:
    """For each path of an image without its ending: the image, and its labels where Ultralytics looks for them."""
    images: dict[str, str | bytes] = {f"{name}.jpg": picture() for name in names}
    return images | {locate_label_file(f"{name}.jpg"): text for name in names}


def test_the_layout_of_ultralytics(tmp_path: Path) -> None:
    yaml = "path: ../datasets/mine\ntrain: images/train\nval: images/val\ntest:\n\nnames:\n  0: cat\n  1: no\n"
    files = pairs("images/train/a", "images/train/deep/b", "images/val/a", text=BOX + "\n1 0.25 0.25 0.5 0.5\n")
    data = formats.read(put(tmp_path, files | {"mine.yaml": yaml}))
    assert (data.format, data.classes, data.class_numbers) == ("yolo", ("cat", "no"), (0, 1))
    assert [(example.name, example.split) for example in data.examples] == [
        ("a.jpg", "train"),
        ("deep/b.jpg", "train"),
        ("val/a.jpg", "val"),
    ]
    first = data.examples[0]
    assert first.boxes.tolist() == [[24, 12, 40, 36], [0, 0, 32, 24]]
    assert (first.width, first.height, first.size_is_from_image) == (64, 48, True)
    assert str(find_box_origin(first, 1)) == "labels/train/a.txt:3"
    assert problems(data) == []


@pytest.mark.parametrize(
    "places",
    ["train: ../train/images\nval: ../valid/images", "train: train/images\nval: [valid/images]", "train: [train]\nval: valid"],
)
def test_the_layout_of_roboflow(tmp_path: Path, places: str) -> None:
    yaml = f"{places}\nnc: 1\nnames: ['cat']\nroboflow:\n  workspace: x\n  url: https://x\n"
    data = formats.read(put(tmp_path, pairs("train/images/a", "valid/images/b") | {"data.yaml": yaml}))
    assert [example.split for example in data.examples] == ["train", "val"]
    assert [example.count for example in data.examples] == [1, 1]
    assert problems(data) == []


def test_a_data_yaml_of_windows(tmp_path: Path) -> None:
    yaml = "path: C:\\sets\\mine\r\ntrain: images\\train\r\nval: .\\images\\val\r\nnames: [cat]\r\n"
    files = pairs("images/train/a", "images/val/b", text=BOX.replace("\n", "\r\n")) | {"data.yaml": yaml}
    data = formats.read(put(tmp_path, files))
    assert [(example.name, example.split, example.count) for example in data.examples] == [
        ("a.jpg", "train", 1),
        ("b.jpg", "val", 1),
    ]
    assert problems(data) == ["path_foreign", "path_foreign"]


def test_images_listed_in_a_text_file(tmp_path: Path) -> None:
    listed = f"./images/a.jpg\n\nimages/gone.jpg\n../outside.jpg\n/etc/passwd\nimages/B.JPG\n{tmp_path}/set/images/c.jpg\n"
    files = pairs("images/a", "images/b", "images/c") | {"train.txt": listed, "data.yaml": "train: train.txt\nnames: [cat]\n"}
    put(tmp_path, {"outside.jpg": picture()})
    data = formats.read(put(tmp_path / "set", files))
    assert [example.count for example in data.examples] == [1, 0, 0, 0, 1, 1]
    found = {
        found.problem: str(found.origin)
        for found in data.findings
        if found.problem not in {"path_climbs_out", "annotation_missing"}
    }
    assert found == {"image_missing": "train.txt:3", "path_case_differs": "train.txt:6"}
    assert [str(found.origin) for found in data.findings if found.problem == "path_climbs_out"] == ["train.txt:4", "train.txt:5"]


def test_darknet_with_labels_beside_the_images(tmp_path: Path) -> None:
    data = formats.read(put(tmp_path, {"a.jpg": picture(), "a.txt": BOX, "classes.txt": "cat\ndog\n"}))
    assert data.classes == ("cat", "dog")
    assert data.examples[0].count == 1 and problems(data) == []


def test_without_any_list_classes_are_their_numbers(tmp_path: Path) -> None:
    data = formats.read(put(tmp_path, pairs("images/train/a", text="3 0.5 0.5 1 1\n20000 0.5 0.5 1 1\n")))
    assert data.classes == ("0", "1", "2", "3")
    assert data.examples[0].classes.tolist() == [3, -1]
    assert data.examples[0].split == "train"
    assert problems(data) == ["class_out_of_range"]


def test_a_polygon_is_its_extent(tmp_path: Path) -> None:
    data = formats.read(put(tmp_path, pairs("images/a", text="0 0.25 0.5 0.75 0.5 0.5 1.0\n") | {"classes.txt": "cat"}))
    assert data.examples[0].boxes.tolist() == [[16, 24, 48, 48]]


@pytest.mark.parametrize(("shape", "points"), [("[17, 3]", 51), ("[4, 2]", 8)])
def test_the_points_of_a_body_behind_a_box_are_no_polygon(tmp_path: Path, shape: str, points: int) -> None:
    line = BOX.strip() + " 0.9" * points + "\n"
    files = pairs("images/a", text=line) | {"data.yaml": f"train: images\nkpt_shape: {shape}\nnames: [person]\n"}
    data = formats.read(put(tmp_path, files))
    assert problems(data) == []
    assert data.examples[0].boxes.tolist() == [[24, 12, 40, 36]]


@pytest.mark.parametrize("root", ["/kaggle/input/cats/", "C:\\\\cats\\\\", "../../elsewhere/"])
def test_folders_of_another_machine_are_taken_by_their_ends(tmp_path: Path, root: str) -> None:
    yaml = f'train: "{root}images/train"\nval: "{root}images/val"\nnames: [cat]\n'
    files = pairs("images/train/a", "images/val/b") | {"data.yaml": yaml}
    data = formats.read(put(tmp_path, files))
    assert [example.split for example in data.examples] == ["train", "val"]
    assert set(problems(data)) == {"path_foreign"}


def test_companions_of_files_that_macos_writes_are_passed_over(tmp_path: Path) -> None:
    files = pairs("images/a") | {"images/._a.jpg": b"\0\5\x16\7", "labels/._a.txt": b"\0", "classes.txt": "cat\n"}
    data = formats.read(put(tmp_path, files))
    assert [example.name for example in data.examples] == ["a.jpg"] and problems(data) == []


def test_wrong_lines_are_named_and_the_others_are_read(tmp_path: Path) -> None:
    text = (
        BOX
        + "0 0.5 0.5 0.2\n0 a 0.5 0.2 0.2\n0 0.5 0.5 0.2 0.2 0.9\n5 0.5 0.5 0.2 0.2\n0.5 0.5 0.5 0.2 0.2\n-1 0.5 0.5 0.2 0.2\n0 nan 0.5 0.2 0.2\n0 1_0 0 1 1\n"
    )
    data = formats.read(put(tmp_path, pairs("images/a", text=text) | {"classes.txt": "cat\ndog"}))
    (example,) = data.examples
    assert example.classes.tolist() == [0, -1, -1, -1, 0]
    assert np.isnan(example.boxes[4, 0])
    said = [f"{found.origin}: {found.message}" for found in data.findings]
    assert said[0].startswith("labels/a.txt:2: Expected 5 numbers") and said[0].endswith("Received: 4 numbers.")
    assert said[1].startswith("labels/a.txt:3: Expected numbers") and said[1].endswith("Received: 'a'.")
    assert said[2].startswith("labels/a.txt:4:") and said[2].endswith("Received: 6 numbers.")
    assert said[3].startswith("labels/a.txt:9:") and said[3].endswith("Received: '1_0'.")
    assert said[4:] == [
        f"labels/a.txt:{line}: Expected the number of a class, 0 to 1. Received: {number}."
        for line, number in ((5, "5"), (6, "0.5"), (7, "-1"))
    ]


def test_images_and_labels_without_each_other(tmp_path: Path) -> None:
    files = pairs("images/a") | {
        "images/b.jpg": picture(),
        "labels/c.txt": BOX,
        "images/d.jpg": picture(),
        "labels/d.txt": "\n",
        "labels/classes.txt": "cat",
    }
    data = formats.read(put(tmp_path, files))
    assert problems(data) == ["annotation_empty", "annotation_missing", "image_missing"]
    assert "labels/c.txt" in finding(data, "image_missing")
    assert "b.jpg" in finding(data, "annotation_missing")
    assert len(data.examples) == 3


def test_where_no_image_has_labels_it_is_said_once(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"images/train/{number}.jpg": picture() for number in range(5)}
    data = formats.read(put(tmp_path, files | {"data.yaml": "train: images/train\nnames: [cat]\n"}))
    assert "No image of train has a label file" in finding(data, "annotation_missing")


def test_boxes_of_an_image_that_cannot_be_read_stay_shares(tmp_path: Path) -> None:
    data = formats.read(put(tmp_path, {"images/a.jpg": b"no image", "labels/a.txt": BOX, "classes.txt": "cat"}))
    (example,) = data.examples
    assert example.is_normalised and example.width is None
    assert example.boxes.tolist() == [[0.375, 0.25, 0.625, 0.75]]


@pytest.mark.parametrize(
    ("yaml", "problem", "said"),
    [
        ("names: {0: cat, 2: dog}", "label_map_gaps", "2 classes have numbers up to 2"),
        ("nc: 3\nnames: [cat, dog]", "label_map_gaps", "nc is 3, and there are 2 names"),
        ("names: [cat, cat]", "label_map_duplicates", "The class 'cat' is listed twice"),
        ("names: [background, cat]", "label_map_background", "The first class is 'background'"),
        ("names: [cat]\ntrain: /etc", "path_climbs_out", "'/etc' leads out of the data set"),
        ("names: [cat]\ntrain: images/none", "image_missing", "'images/none' is not there"),
        ("names: [[cat]]", "annotation_unparsable", "data.yaml: names[0]: Expected the name of a class. Received: a list"),
        ("names: cat", "annotation_unparsable", "data.yaml: names: Expected a list of names"),
        ("names: {a: cat}", "annotation_unparsable", "Expected the number of a class. Received: 'a'"),
        ("names: [cat\ntrain: x", "annotation_unparsable", "data.yaml:2: No YAML"),
        ("names: " + "[" * 50_000, "annotation_unparsable", "Nested too deeply"),
        ("names: &a [*a]", "annotation_unparsable", "data.yaml:1: No YAML: found unconstructable recursive node"),
    ],
)
def test_what_is_wrong_with_data_yaml_is_said(tmp_path: Path, yaml: str, problem: str, said: str) -> None:
    data = formats.read(put(tmp_path, pairs("images/a") | {"data.yaml": yaml}))
    assert said in finding(data, problem)
    assert len(data.examples) == 1


def test_yaml_that_would_fill_the_memory_does_not(tmp_path: Path) -> None:
    """Each line doubles the last ten times over: printed, the whole would take gigabytes."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, 12)]
    data = formats.read(put(tmp_path, pairs("images/a") | {"data.yaml": "\n".join([*lines, "names: *a11"])}))
    assert "Received: a list" in finding(data, "annotation_unparsable")


def test_a_folder_without_images_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, {"data.yaml": "names: [cat]\ntrain: images"})
    with pytest.raises(InvalidInputError, match=r"data\.yaml: train: 'images' is not there"):
        formats.read(tmp_path)


def test_a_link_in_circles_is_followed_once(tmp_path: Path) -> None:
    put(tmp_path, pairs("images/a") | {"classes.txt": "cat"})
    (tmp_path / "images" / "again").symlink_to(tmp_path / "images")
    assert len(formats.read(tmp_path).examples) == 1
