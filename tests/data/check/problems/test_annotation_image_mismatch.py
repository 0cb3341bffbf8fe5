"""Annotations of Pascal VOC that name the image of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, photo, spoiled
from unstall.data.check.context import Severity
from unstall.data.check.corrected_copy import write_copy
from unstall.data.check.runner import check
from unstall.data.example import DataSet, Finding
from unstall.data.formats import read
from unstall.data.tools.convert import convert

ANNOTATION = """<annotation>
  <filename>{}</filename>
  <size><width>64</width><height>48</height><depth>3</depth></size>
  <object><name>cat</name><bndbox><xmin>3</xmin><ymin>4</ymin><xmax>20</xmax><ymax>30</ymax></bndbox></object>
</annotation>
"""


def a_data_set(folder: Path, images: tuple[str, ...], annotations: dict[str, str]) -> Path:
    """`annotations`: each by its name, and what its <filename> says."""
    for name in ("JPEGImages", "Annotations"):
        (folder / name).mkdir(parents=True)
    for number, image in enumerate(images):
        (folder / "JPEGImages" / image).write_bytes(photo(seed=number))
    for name, said in annotations.items():
        (folder / "Annotations" / f"{name}.xml").write_text(ANNOTATION.format(said))
    return folder


def mismatches(data: DataSet) -> list[Finding]:
    return [finding for finding in data.findings if finding.problem == "annotation_image_mismatch"]


def images_of(data: DataSet) -> list[str]:
    return [example.image.path.name for example in data.examples if example.image is not None]


def test_an_annotation_that_names_another_image_is_found_with_its_line(tmp_path: Path) -> None:
    report = spoiled(tmp_path, "annotation_image_mismatch", "voc")
    (finding,) = report.found["annotation_image_mismatch"]
    assert finding.origin.line is not None and finding.origin.field == "filename"
    assert "<filename> says" in finding.message and report.count(Severity.WARNING) == 1


def test_annotations_that_are_copies_keep_their_images_and_so_does_a_conversion(tmp_path: Path) -> None:
    folder = a_data_set(tmp_path / "set", ("a.jpg", "b.jpg", "c.jpg"), {"a": "a.jpg", "b": "a.jpg", "c": "a.jpg"})
    data = read(folder)
    assert images_of(data) == ["a.jpg", "b.jpg", "c.jpg"]
    assert [(finding.origin.file, finding.origin.line) for finding in mismatches(data)] == [
        ("Annotations/b.xml", 2),
        ("Annotations/c.xml", 2),
    ]
    (folder / "JPEGImages" / "d.jpg").write_bytes(photo(seed=9))  # that no annotation is of: it is said, and not written
    assert convert(folder, tmp_path / "coco", "coco").as_plain()["images_without_annotation"] == 1
    (folder / "JPEGImages" / "d.jpg").unlink()
    written = {path.name: path.read_bytes() for path in (tmp_path / "coco").rglob("*.jpg")}
    assert written == {path.name: path.read_bytes() for path in (folder / "JPEGImages").iterdir()}


@pytest.mark.parametrize("annotations", [{"a": "a.jpg", "x": "a.jpg"}, {"a": "a.jpg", "0": "a.jpg"}])
def test_two_annotations_of_one_image_are_found_whichever_is_read_first(tmp_path: Path, annotations: dict[str, str]) -> None:
    data = read(a_data_set(tmp_path, ("a.jpg",), annotations))
    (finding,) = mismatches(data)
    assert finding.origin.file != "Annotations/a.xml" and "is the image of 'Annotations/a.xml', too" in finding.message
    assert images_of(data) == ["a.jpg", "a.jpg"], "both are kept"


def test_a_mended_copy_is_well(tmp_path: Path) -> None:
    write_copy(spoiled(tmp_path, "annotation_image_mismatch", "voc"), tmp_path / "copy")
    assert not check(read(tmp_path / "copy")).found


def test_names_that_agree_are_none(tmp_path: Path) -> None:
    assert not healthy(tmp_path, "voc").found


@pytest.mark.parametrize(
    ("images", "annotations"),
    [
        (("p1.jpg", "p2.jpg"), {"0001": "p1.jpg", "0002": "p2.jpg"}),  # annotations with numbers of their own
        (("a.jpg", "a.png"), {"a": "a.png"}),  # the same name with another ending
        (("A.jpg", "b.jpg"), {"a": "A.jpg", "b": "b.jpg"}),  # another case
        (("a.jpg", "b.jpg"), {"a": "gone.jpg", "b": ""}),  # nothing that is there is named
        (("a.b.jpg", "a.jpg"), {"a.b": "a.b.jpg", "a": "a.jpg"}),  # points within names
    ],
)
def test_what_only_looks_so_is_none(tmp_path: Path, images: tuple[str, ...], annotations: dict[str, str]) -> None:
    assert not mismatches(read(a_data_set(tmp_path, images, annotations)))
