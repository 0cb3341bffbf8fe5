"""Pascal VOC files as people and tools write them, whole and broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.data.dataset_files import finding, picture, problems, put, voc_object, voc_text
from unstall.base.errors import InvalidInputError
from unstall.data import formats
from unstall.data.check.context import find_box_origin


def nested(root: Path, annotations: dict[str, str | bytes], **more: str | bytes) -> Path:
    """The layout of the challenge, with an image for each annotation."""
    files: dict[str, str | bytes] = {f"Annotations/{name}.xml": text for name, text in annotations.items()}
    files |= {f"JPEGImages/{name}.jpg": picture() for name in annotations}
    return put(root, files | more)


def test_the_layout_of_the_challenge(tmp_path: Path) -> None:
    first = voc_text(
        "a.jpg", voc_object("dog", more="<difficult>1</difficult><truncated>1</truncated>") + voc_object("cat", (0.5, 1, 2, 3))
    )
    lists: dict[str, str | bytes] = {
        "ImageSets/Main/train.txt": "a\n",
        "ImageSets/Main/val.txt": "b\r\n\r\n",
        "ImageSets/Main/trainval.txt": "a\nb\n",
        "ImageSets/Main/cat_train.txt": "a -1\n",
    }
    data = formats.read(nested(tmp_path, {"a": first, "b": voc_text("b.jpg", voc_object())}, **lists))
    assert data.format == "voc"
    assert (data.classes, data.class_numbers) == (("cat", "dog"), (1, 2))
    assert [(example.name, example.split) for example in data.examples] == [("a.jpg", "train"), ("b.jpg", "val")]
    one = data.examples[0]
    assert one.boxes.tolist() == [[1, 2, 11, 22], [0.5, 1, 2, 3]]
    assert one.classes.tolist() == [1, 0]
    assert (one.difficult.tolist(), one.truncated.tolist()) == ([True, False], [True, False])
    assert str(find_box_origin(one, 1)) == "Annotations/a.xml:5"
    assert problems(data) == []


def test_trainval_counts_where_there_is_nothing_else(tmp_path: Path) -> None:
    lists: dict[str, str | bytes] = {"ImageSets/Main/trainval.txt": "a\n"}
    data = formats.read(nested(tmp_path, {"a": voc_text("a.jpg", voc_object())}, **lists))
    assert data.examples[0].split == "trainval"


def test_an_image_of_two_lists_is_read_once_for_each(tmp_path: Path) -> None:
    lists: dict[str, str | bytes] = {"ImageSets/Main/train.txt": "a\n", "ImageSets/Main/val.txt": "a\n"}
    data = formats.read(nested(tmp_path, {"a": voc_text("a.jpg", voc_object())}, **lists))
    assert [(example.name, example.split) for example in data.examples] == [("a.jpg", "train"), ("val/a.jpg", "val")]


def test_flat_and_in_folders_of_splits(tmp_path: Path) -> None:
    put(tmp_path / "flat", {"a.xml": voc_text("a.jpg", voc_object()), "a.jpg": picture()})
    data = formats.read(tmp_path / "flat")
    assert data.examples[0].image is not None and problems(data) == []
    files = {
        f"{split}/a.{suffix}": voc_text("a.jpg", voc_object()) if suffix == "xml" else picture()
        for split in ("train", "valid")
        for suffix in ("xml", "jpg")
    }
    data = formats.read(put(tmp_path / "robo", files))
    assert [example.split for example in data.examples] == ["train", "val"] and problems(data) == []


@pytest.mark.parametrize("layout", ["annotations/{}/a.xml images/{}/a.jpg", "{}/annotations/a.xml {}/images/a.jpg"])
def test_splits_are_folders_where_no_list_names_them(tmp_path: Path, layout: str) -> None:
    """Else what is kept for judging would be learned."""
    files: dict[str, str | bytes] = {}
    for split in ("train", "valid", "test"):
        xml, image = layout.format(split, split).split()
        files |= {xml: voc_text("a.jpg", voc_object()), image: picture()}
    data = formats.read(put(tmp_path, files))
    assert sorted(example.split for example in data.examples) == ["test", "train", "val"]
    assert all(example.image is not None for example in data.examples) and problems(data) == []


def test_the_devkit_of_several_years(tmp_path: Path) -> None:
    for year in ("VOC2007", "VOC2012"):
        nested(tmp_path / year, {"a": voc_text("a.jpg", voc_object())})
    data = formats.read(tmp_path)
    assert [str(example.image.path.relative_to(tmp_path)) for example in data.examples if example.image] == [
        "VOC2007/JPEGImages/a.jpg",
        "VOC2012/JPEGImages/a.jpg",
    ]
    assert len({example.name for example in data.examples}) == 2


def test_the_image_is_found_though_the_annotation_names_it_wrongly(tmp_path: Path) -> None:
    names = {"a": "a.png", "b": "C:\\photos\\x.jpg", "c": "c", "d": ""}
    data = formats.read(nested(tmp_path, {key: voc_text(name, voc_object()) for key, name in names.items()}))
    assert [example.name for example in data.examples] == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    assert "path_climbs_out" in problems(data)  # b: another machine's path is refused, and the image beside it taken


def test_images_missing_in_another_case_outside_and_without_annotation(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "Annotations/a.xml": voc_text("A.JPG", voc_object()),
        "Annotations/b.xml": voc_text("gone.jpg", voc_object()),
        "Annotations/c.xml": voc_text("../../etc/passwd", voc_object()),
        "JPEGImages/A.jpg": picture(),
        "JPEGImages/lonely.jpg": picture(),
        "ImageSets/Main/train.txt": "a\nmissing\n",
    }
    data = formats.read(put(tmp_path, files))
    assert problems(data) == ["annotation_missing", "annotation_missing", "image_missing", "path_case_differs", "path_climbs_out"]
    assert any("'missing' is listed, and has no annotation" in found.message for found in data.findings)
    assert "Annotations/b.xml:2: filename: There is no image 'gone.jpg'" in finding(data, "image_missing")
    assert data.examples[2].image is None


def test_wrong_objects_are_named_by_line_and_the_others_are_read(tmp_path: Path) -> None:
    objects = (
        voc_object()
        + voc_object(box=("x", 1, 2, 3))
        + "<object><name>cat</name></object>\n"
        + voc_object("")
        + voc_object(box=("nan", 1, 2, "1e2"))
    )
    data = formats.read(nested(tmp_path, {"a": voc_text("a.jpg", objects)}))
    (example,) = data.examples
    assert example.classes.tolist() == [0, -1, 0]
    assert np.isnan(example.boxes[2, 0]) and example.boxes[2, 3] == 100
    said = [f"{found.origin}: {found.message}" for found in data.findings]
    assert said[0] == "Annotations/a.xml:5: bndbox.xmin: Expected a number. Received: 'x'."
    assert said[1].startswith("Annotations/a.xml:6: This object has no <bndbox>")
    assert said[2] == "Annotations/a.xml:7: Expected the name of a class. Received: ''."


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><annotation><filename>&b;</filename></annotation>'
OUTSIDE = '<!DOCTYPE x SYSTEM "file:///etc/passwd"><annotation/>'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "The file is empty"),
        ("   \n", "The file is empty"),
        ("<annotation>\n<object>\n</annotation>", "a.xml:3: No XML: mismatched tag"),
        ("<kml></kml>", "a.xml:1: Expected an <annotation>. Received: <kml>"),
        (BOMB, "a.xml:1: A document type (DOCTYPE) is declared"),
        (OUTSIDE, "a.xml:1: A document type (DOCTYPE) is declared"),
        ("<annotation>&undefined;</annotation>", "a.xml:1: No XML: undefined entity"),
        ("<annotation>" + "<x>" * 100_000, "More than 32 elements within each other"),
        ('<?xml version="1.0" encoding="no-such"?><annotation/>', "a.xml"),
        (b"\xff\xfe\x00\x01 nothing", "a.xml"),
    ],
)
def test_a_broken_file_is_named_and_does_not_stop_the_others(tmp_path: Path, content: str | bytes, said: str) -> None:
    data = formats.read(nested(tmp_path, {"a": content, "b": voc_text("b.jpg", voc_object())}), "voc")
    assert [example.name for example in data.examples] == ["b.jpg"]
    assert problems(data) == ["annotation_unparsable"]
    assert said in finding(data, "annotation_unparsable")


def test_where_every_file_is_broken_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"Annotations/a\.xml:1: No XML"):
        formats.read(nested(tmp_path, {"a": "<annotation"}), "voc")


def test_an_annotation_of_another_encoding(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="gbk"?>' + voc_text("a.jpg", voc_object("猫"))
    data = formats.read(nested(tmp_path, {"a": text.encode("gbk")}))
    assert data.classes == ("猫",)


@pytest.mark.parametrize("name", ["labels.txt", "classes.txt", "label_map.pbtxt"])
def test_a_list_of_classes_gives_their_order_and_what_is_unknown(tmp_path: Path, name: str) -> None:
    listed = (
        "dog\ncat\n\n"
        if name.endswith("txt") and name != "label_map.pbtxt"
        else "item { id: 1 name: 'dog' } item { id: 2 name: 'cat' }"
    )
    data = formats.read(nested(tmp_path, {"a": voc_text("a.jpg", voc_object("cat") + voc_object("cow"))}, **{name: listed}))
    assert data.classes == ("dog", "cat")
    assert data.examples[0].classes.tolist() == [1, -1]
    assert "Expected one of the 2 listed classes. Received: 'cow'." in finding(data, "class_unknown")


def test_an_annotation_without_objects_or_size(tmp_path: Path) -> None:
    data = formats.read(nested(tmp_path, {"a": voc_text("a.jpg", "", size="")}))
    assert (data.examples[0].width, data.examples[0].size_is_from_image) == (64, True)
    assert problems(data) == ["annotation_empty"]


def test_the_layout_of_the_oxford_pets(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "annotations/xmls/a.xml": voc_text("a", voc_object()),
        "images/a.jpg": picture(),
        "annotations/README": "x",
    }
    data = formats.read(put(tmp_path, files))
    assert data.examples[0].image is not None and problems(data) == []
