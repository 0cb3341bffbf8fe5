"""The fingerprint of data from outside: files, sizes of images, boxes, records; the same for the same data, another for other data."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from unstall.sensors import data_files, data_paths
from unstall.sensors.data_files import measure


def image(path: Path, width: int, height: int, more: bytes = b"") -> None:
    """The first bytes of a PNG: all that is looked at."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0" + more)


def records(path: Path, payloads: Iterable[bytes]) -> None:
    path.write_bytes(b"".join(struct.pack("<Q", len(each)) + b"crc1" + each + b"crc2" for each in payloads))


def example(boxes: int, width: int, height: int) -> bytes:
    """As a tf.train.Example lays out the two entries that are looked at."""
    floats = b"\x0a" + bytes([4 * boxes]) + b"\0" * (4 * boxes) if boxes else b""
    feature = b"\x12" + bytes([len(floats)]) + floats
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"
    return b"\x0a\x16image/object/bbox/xmin\x12" + bytes([len(feature)]) + feature + b"\x0a\x0dimage/encoded" + picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(10):
        image(tmp_path / "data" / f"{number}.png", 640, 480)
    image(tmp_path / "data" / "big.png", 5000, 4000)
    return tmp_path / "data"


def test_sizes_of_images_are_a_distribution_and_the_largest_are_named(folder: Path) -> None:
    result = measure([str(folder)])
    assert (result["files"], result["examples"]) == (11, 11)
    assert result["image_px"]["sizes"] == {"5000×4000": 1, "640×480": 10}
    assert result["image_px"]["longer_side"] == {"≤1024": 10, "≤8192": 1}
    assert result["image_px"]["width"]["p50"] == 640 and result["image_px"]["width"]["max"] == 5000
    assert result["largest"][0] == {"name": "big.png", "width": 5000, "height": 4000}
    assert result["is_whole"] is True


def test_files_folders_and_patterns_are_all_the_same_data(folder: Path) -> None:
    of_files = measure([str(path) for path in folder.iterdir()])
    of_pattern = measure(["*.png"], str(folder))
    assert measure([str(folder)])["digest"] == of_files["digest"] == of_pattern["digest"]


def test_moved_data_is_the_same_and_one_file_more_is_not(folder: Path) -> None:
    before = measure([str(folder)])["digest"]
    moved = folder.rename(folder.with_name("elsewhere"))
    assert measure([str(moved)])["digest"] == before
    image(moved / "new.png", 10, 10)
    assert measure([str(moved)])["digest"] != before


@pytest.mark.parametrize("kind", ["coco", "voc", "yolo"])
def test_boxes_are_counted_in_annotations_of_each_kind(kind: str, folder: Path) -> None:
    if kind == "coco":
        annotations = [{"image_id": 1, "bbox": [0, 0, 1, 1]}] * 3 + [{"bbox": [], "image_id": 2}]
        (folder / "instances.json").write_text(json.dumps({"images": [{"id": 1}, {"id": 2}], "annotations": annotations}))
    elif kind == "voc":
        (folder / "1.xml").write_text("<annotation><object></object>\n<object></object><object></object></annotation>")
        (folder / "2.xml").write_text("<annotation><object></object></annotation>")
        (folder / "other.xml").write_text("<settings/>")
    else:
        (folder / "1.txt").write_text("0 0.5 0.5 0.1 0.1\n1 .5 .5 1e-3 0.1\n0 0 0 0 0\n")
        (folder / "2.txt").write_text("0 0.5 0.5 0.1 0.1")
        (folder / "names.txt").write_text("cat\ndog\n")
    text = measure([str(folder)])["boxes_per_image"]
    assert (text["total"], text["max"]) == (4, 3)


def test_annotations_beside_the_images_belong_to_them_and_other_texts_do_not(tmp_path: Path) -> None:
    image(tmp_path / "images" / "1.png", 10, 10)
    (tmp_path / "labels").mkdir()
    for name in ("labels/1.txt", "labels/of_another.txt", "images/notes.txt"):
        (tmp_path / name).write_text("0 0.5 0.5 0.1 0.1")
    result = measure([f"{tmp_path}/images/*.png"])
    assert result["kinds"]["txt"]["files"] == 1 and result["boxes_per_image"]["total"] == 1


def test_a_label_that_is_other_is_seen_though_no_size_has_changed(folder: Path) -> None:
    (folder / "1.txt").write_text("0 0.5 0.5 0.1 0.1")
    before = measure([str(folder)])
    (folder / "1.txt").write_text("1 0.5 0.5 0.1 0.1")
    after = measure([str(folder)])
    assert before["digest"] == after["digest"] and before["labels_digest"] != after["labels_digest"]


def test_arrays_that_hold_other_numbers_are_seen_though_no_size_has_changed(tmp_path: Path) -> None:
    stored = tmp_path / "train.npz"
    stored.write_bytes(b"\1" * 3_000_000 + b"\2\3")
    before = measure([str(stored)])
    stored.write_bytes(b"\1" * 3_000_000 + b"\3\2")
    after = measure([str(stored)])
    assert before["digest"] == after["digest"]
    assert before["arrays_digest"] != after["arrays_digest"]


def test_records_are_counted_and_looked_into(tmp_path: Path) -> None:
    records(tmp_path / "train.tfrecord-00000-of-00001", [example(2, 300, 200), example(0, 300, 200), example(5, 4096, 2000)])
    result = measure([str(tmp_path)])
    assert result["examples"] == 3
    assert result["image_px"]["sizes"] == {"300×200": 2, "4096×2000": 1}
    assert (result["boxes_per_image"]["total"], result["boxes_per_image"]["max"], result["boxes_per_image"]["none"]) == (7, 5, 1)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08" + b"\0" * 40, b"\xff" * 64, struct.pack("<Q", 2**60) + b"\0" * 8])
def test_a_record_file_that_is_none_is_counted_by_its_bytes_alone(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.tfrecord").write_bytes(content)
    result = measure([str(tmp_path)])
    assert (result["files"], result["bytes"], result["examples"]) == (1, len(content), None)


def test_of_very_many_images_the_large_ones_are_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "ALL_HEADERS_UP_TO", 20)
    monkeypatch.setattr(data_files, "SOME_HEADERS", 5)
    monkeypatch.setattr(data_files, "LARGEST_HEADERS", 2)
    for number in range(60):
        image(tmp_path / f"{number:03}.png", 100, 100)
    image(tmp_path / "017b.png", 9000, 9000, b"\0" * 5000)
    result = measure([str(tmp_path)])
    assert result["examples"] == 61 and result["image_px"]["looked_at"] < 12
    assert result["largest"][0]["width"] == 9000


def test_where_there_is_no_data_there_is_no_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "readme.md").write_text("x")
    assert measure([str(tmp_path), str(tmp_path / "gone"), "*.jpg"], str(tmp_path)) == {}


def test_too_little_time_is_said(folder: Path) -> None:
    result = measure([str(folder)], max_s=0.0)
    assert result == {} or result["is_whole"] is False


# --- what a program names ---


def test_data_is_found_by_the_paths_that_a_program_names(folder: Path) -> None:
    program = folder.parent / "app"
    program.mkdir()
    image(folder.parent / "app" / "runs" / "plot.png", 5, 5)
    (folder.parent / "boxes.json").write_text('{"annotations": []}')
    (program / "history.json").write_text('{"loss": [1, 2]}')
    text = f'IMAGES = "../data"\nLABELS = "{folder.parent}/boxes.json"\nplt.savefig("runs")\nx = "train"\ny = "/"\nz = "history.json"'
    found = data_paths.find_named_paths([text], ["python", "train.py"], [str(program)])
    assert set(found) == {str(folder), str(folder.parent / "boxes.json")}
    assert data_paths.find_labels(found) == [str(folder.parent / "boxes.json")]


def test_data_named_on_the_command_line_is_found(folder: Path) -> None:
    assert data_paths.find_named_paths([], ["python", "train.py", f"--data={folder}"], [str(folder.parent)]) == [str(folder)]


def test_of_files_that_are_held_open_those_that_are_read_are_told_and_of_records_all_of_their_kind(tmp_path: Path) -> None:
    for name in ("a.tfrecord-0-of-2", "a.tfrecord-1-of-2", "x.npy", "written.npy", "train.py"):
        (tmp_path / name).write_bytes(b"")
    with (
        (tmp_path / "a.tfrecord-1-of-2").open("rb"),
        (tmp_path / "x.npy").open("rb"),
        (tmp_path / "written.npy").open("wb"),
        (tmp_path / "train.py").open("rb"),
    ):
        found = data_paths.find_open_files(os.getpid())
    assert set(found) == {f"{tmp_path}/*.tfrecord*", f"{tmp_path}/x.npy"}
    assert measure(found)["files"] == 3
