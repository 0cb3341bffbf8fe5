"""A data set is recognised by itself, and where it is not, the message says what was looked for and what is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.data.dataset_files import coco_box, coco_image, coco_text, picture, put, small_set, voc_object, voc_text
from unstall.base.errors import InvalidInputError
from unstall.data import formats


@pytest.mark.parametrize("name", formats.FORMATS.names())
def test_what_a_format_writes_is_recognised_as_it(tmp_path: Path, name: str) -> None:
    formats.FORMATS.module(name).write(small_set(tmp_path), tmp_path / "out")
    assert formats.recognise(tmp_path / "out") == name


def test_what_is_no_data_set_is_refused_with_what_is_there(tmp_path: Path) -> None:
    put(tmp_path, {"a.jpg": picture(), "b.jpg": picture(), "notes.txt": "hello", "c/d.json": "{}"})
    with pytest.raises(InvalidInputError) as caught:
        formats.read(tmp_path)
    said = str(caught.value)
    assert all(f"{name}: " in said for name in formats.FORMATS.names())
    assert "2 .jpg" in said and "1 .txt" in said and "1 folders" in said


def test_a_data_set_within_the_folder_is_named(tmp_path: Path) -> None:
    text = coco_text([coco_image(1, "a.jpg")], [coco_box(1)], [{"id": 1, "name": "cat"}])
    put(tmp_path, {"unpacked/my set/annotations/instances.json": text, "unpacked/my set/images/a.jpg": picture()})
    with pytest.raises(InvalidInputError, match=r"But '.*/unpacked/my set' is \(coco\): name that folder"):
        formats.read(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '{"version": "5.0", "shapes": [], "imagePath": "a.jpg", "imageData": null}', "labelme2coco"),
        ("a.xml", '<annotations><version>1.1</version><image id="0" name="a.jpg"></image></annotations>', "CVAT's own format"),
        ("project.json", '[{"id": 1, "data": {"image": "a.jpg"}, "annotations": [{"result": []}]}]', "Label Studio's own JSON"),
        ("_annotations.csv", "filename,width,height,class,xmin,ymin,xmax,ymax\n", "boxes in a CSV file"),
        (
            "train.csv",
            'image_id,width,height,bbox,source\nb6ab77fd7,1024,1024,"[834.0, 222.0, 56.0, 36.0]",usask\n',
            "boxes in a CSV file",
        ),
        ("annotations.csv", "images/a.jpg,837,346,981,456,cow\n", "boxes in a CSV file"),
        ("boxes.csv", "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax\n", "boxes in a CSV file"),
        ("cats.zip", "PK", "cats.zip is an archive: unpack it"),
        ("cats/b.jpg", picture(), "images, and no file that could hold boxes"),
    ],
)
def test_what_another_program_keeps_its_boxes_in_is_known_by_name(
    tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        formats.read(put(tmp_path, {name: content, "a.jpg": picture()}))


@pytest.mark.parametrize(("name", "content"), [("scores.csv", "epoch,loss\n1,0.5\n"), ("notes.txt", "images to label")])
def test_of_other_files_nothing_is_guessed(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(InvalidInputError, match=r"is in no format that is known. Looked for"):
        formats.read(put(tmp_path, {name: content, "a.jpg": picture()}))


def test_what_could_be_several_formats_is_asked_about(tmp_path: Path) -> None:
    text = coco_text([coco_image(1, "a.jpg")], [coco_box(1)], [{"id": 1, "name": "cat"}])
    put(tmp_path, {"a.json": text, "a.xml": voc_text("a.jpg", voc_object()), "a.jpg": picture()})
    with pytest.raises(
        InvalidInputError, match=r"several formats: coco \(a\.json has COCO's keys\); voc \(a\.xml is an annotation\)\. Say which"
    ):
        formats.read(tmp_path)
    assert formats.read(tmp_path, "voc").format == "voc"


def test_a_path_or_format_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is not there"):
        formats.read(tmp_path / "gone")
    with pytest.raises(InvalidInputError, match=r"There is no format 'kitti'\. Formats: coco, tfrecord, voc, yolo"):
        formats.read(tmp_path, "kitti")
    for name in formats.FORMATS.names():
        with pytest.raises(InvalidInputError):
            formats.read(tmp_path / "gone", name)


def test_a_pipe_named_like_a_file_is_not_waited_for(tmp_path: Path) -> None:
    """To open a pipe that nobody writes to is to wait for ever."""
    put(tmp_path, {"images/a.jpg": picture(), "labels/a.txt": "0 0.5 0.5 1 1\n"})
    for name in ("data.yaml", "images/b.jpg", "labels/c.txt", "train.json", "x.record", "y.xml"):
        os.mkfifo(tmp_path / name)
    data = formats.read(tmp_path)
    assert [example.name for example in data.examples] == ["a.jpg"]


def test_pages_are_those_of_the_files() -> None:
    page = formats.build_page("voc")
    assert page.startswith("# voc\n\nPascal VOC")
    assert all(f"\n## {heading}\n" in page for heading in formats.HEADINGS)
