"""Records of the TF Object Detection API as people and tools write them, whole and broken."""

from __future__ import annotations

import gzip
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.dataset_files import finding, picture, problems, put, record_bytes, record_values
from unstall.base.errors import InvalidInputError
from unstall.data import formats
from unstall.data.check.context import find_box_origin, find_image_origin
from unstall.data.io import record_features, tfrecord_file

MAP = "item { id: 1 name: 'cat' }\nitem { id: 2 name: 'dog' }\n"


def test_a_file_with_its_label_map(tmp_path: Path) -> None:
    one = record_values(
        [(0.25, 0.5, 0.75, 1.0), (0, 0, 1, 1)],
        difficult=[1, 0],
        truncated=[0, 1],
        is_crowd=[0, 1],
        text=[b"dog", b"cat"],
        label=[2, 1],
    )
    data = formats.read(put(tmp_path, {"train.record": record_bytes(one), "label_map.pbtxt": MAP}))
    assert (data.format, data.classes, data.class_numbers) == ("tfrecord", ("cat", "dog"), (1, 2))
    (example,) = data.examples
    assert example.boxes.tolist() == [[16, 24, 48, 48], [0, 0, 64, 48]]
    assert example.classes.tolist() == [1, 0]
    assert (example.difficult.tolist(), example.truncated.tolist(), example.crowd.tolist()) == (
        [True, False],
        [False, True],
        [False, True],
    )
    assert (example.name, example.split) == ("a.jpg", "train")
    assert example.image is not None and example.image.read() == picture()
    assert str(find_box_origin(example, 1)) == "train.record: record 0: box 2"
    assert str(find_image_origin(example)) == "train.record: record 0"
    assert problems(data) == []
    assert data.files == ("train.record", "label_map.pbtxt")


def test_shards_folders_and_patterns(tmp_path: Path) -> None:
    one = record_bytes(record_values())
    files: dict[str, str | bytes] = {
        f"coco_{split}.record-0000{number}-of-00002": one for split in ("train", "val") for number in range(2)
    }
    put(tmp_path, files | {"events.out.tfevents.1": one})
    data = formats.read(tmp_path)
    assert [example.split for example in data.examples] == ["train", "train", "val", "val"]
    assert len({example.name for example in data.examples}) == 4
    assert len(formats.read(tmp_path / "coco_val.record-*").examples) == 2
    assert len(formats.read(tmp_path / "coco_val.record-00000-of-00002").examples) == 1
    robo = put(tmp_path / "robo", {"train/cells.tfrecord": one, "valid/cells.tfrecord": one, "train/cells_label_map.pbtxt": MAP})
    data = formats.read(robo)
    assert [example.split for example in data.examples] == ["train", "val"] and data.classes == ("cat", "dog")


def test_a_missing_shard_is_noted(tmp_path: Path) -> None:
    one = record_bytes(record_values())
    data = formats.read(put(tmp_path, {"a-00000-of-00003.tfrecord": one, "a-00002-of-00003.tfrecord": one}))
    assert "1 of 3 files are not there, the first is a-00001-of-00003.tfrecord" in finding(data, "record_truncated")


def test_classes_by_text_alone_and_without_a_label_map(tmp_path: Path) -> None:
    texts = [record_values(label=None, text=[name]) for name in (b"dog", b"cat")]
    data = formats.read(put(tmp_path / "a", {"x.record": record_bytes(*texts)}))
    assert (data.classes, data.class_numbers) == (("cat", "dog"), (1, 2))
    assert [example.classes.tolist() for example in data.examples] == [[1], [0]]
    labels = [record_values(label=[number], text=None) for number in (5, 3)]
    data = formats.read(put(tmp_path / "b", {"x.record": record_bytes(*labels)}))
    assert (data.classes, data.class_numbers) == (("3", "5"), (3, 5))
    both = [record_values(label=[0], text=[b"cat"]), record_values(label=[0], text=[b"dog"])]
    data = formats.read(put(tmp_path / "c", {"x.record": record_bytes(*both)}))
    assert problems(data) == ["label_map_background", "label_map_duplicates"]


def test_classes_that_the_label_map_does_not_know(tmp_path: Path) -> None:
    wrong = [
        record_values(label=[9], text=None),
        record_values(label=None, text=[b"cow"]),
        record_values(label=[2], text=[b"cow"]),
    ]
    data = formats.read(put(tmp_path, {"x.record": record_bytes(*wrong), "m.pbtxt": MAP}))
    assert problems(data) == ["class_out_of_range", "class_unknown", "class_unknown"]
    assert [example.classes.tolist() for example in data.examples] == [[-1], [-1], [1]]
    assert "record 0: Expected one of the label map's 2 ids, 1 to 2. Received: 9." in finding(data, "class_out_of_range")


def test_keys_that_are_wrong_are_said_once_with_those_that_are_there(tmp_path: Path) -> None:
    def renamed(number: int) -> dict[str, list[bytes]]:
        return {"image_raw": [b"x"], "label": [b"y"], "name": [str(number).encode()]}

    with pytest.raises(InvalidInputError, match=r"Needed: image/encoded\. There: image_raw, label, name\. 3 of 3 records"):
        formats.read(put(tmp_path, {"x.record": record_bytes(*(renamed(number) for number in range(3)))}))


def test_boxes_missing_everywhere_are_a_mistake_and_here_and_there_are_none(tmp_path: Path) -> None:
    bare = record_values(xmin=None, ymin=None, xmax=None, ymax=None, label=None, text=None)
    data = formats.read(put(tmp_path / "all", {"x.record": record_bytes(bare, bare)}))
    assert "Needed: image/object/bbox/xmin, image/object/bbox/ymin" in finding(data, "record_keys_wrong")
    data = formats.read(put(tmp_path / "some", {"x.record": record_bytes(bare, record_values())}))
    assert problems(data) == ["annotation_empty"]


def test_wrong_kinds_and_lengths_are_named_and_the_others_are_read(tmp_path: Path) -> None:
    wrong = [
        record_values(label=[1.0]),
        record_values(xmin=None),
        record_values(xmax=[0.5, 0.6]),
        record_values(label=[1, 2]),
        record_values(),
    ]
    data = formats.read(put(tmp_path, {"x.record": record_bytes(*wrong)}))
    assert len(data.examples) == 1
    said = [f"{found.origin}: {found.message}" for found in data.findings]
    assert "x.record: record 0: image/object/class/label holds float. Expected int64. 1 of 5 records." in said
    assert any(line.startswith("x.record: record 1: Needed: image/object/bbox/xmin. There: image/encoded") for line in said)
    assert any(line.startswith("x.record: record 2: image/object/bbox: Expected as many numbers for each edge") for line in said)
    assert any(line.startswith("x.record: record 3: image/object/class/label: Expected 1 values") for line in said)


def test_a_wrong_checksum_leaves_out_one_record(tmp_path: Path) -> None:
    one = record_bytes(record_values())
    broken = bytearray(one)
    broken[100] ^= 1
    data = formats.read(put(tmp_path, {"x.record": one + bytes(broken) + one}))
    assert len(data.examples) == 2
    assert "x.record: record 1: The data of record 1 have a wrong checksum" in finding(data, "record_crc_wrong")


def test_a_wrong_length_ends_the_file(tmp_path: Path) -> None:
    one = record_bytes(record_values())
    broken = bytearray(one)
    broken[0] ^= 1
    data = formats.read(put(tmp_path, {"x.record": one + bytes(broken) + one}))
    assert len(data.examples) == 1
    assert "The length of record 1 has a wrong checksum" in finding(data, "record_crc_wrong")


@pytest.mark.parametrize("kept", [4, 50, -3])
def test_a_file_that_ends_too_soon(tmp_path: Path, kept: int) -> None:
    one = record_bytes(record_values())
    data = formats.read(put(tmp_path, {"x.record": one + one[:kept]}))
    assert len(data.examples) == 1
    assert "record 1" in finding(data, "record_truncated")


def test_a_length_beyond_all_memory_is_refused(tmp_path: Path) -> None:
    head = struct.pack("<Q", 1 << 60)
    huge = head + struct.pack("<I", tfrecord_file.compute_masked_crc(head)) + b"x" * 100
    with pytest.raises(InvalidInputError, match=r"Record 0 should have 1,152,921,504,606,846,976 bytes; the file has"):
        formats.read(put(tmp_path, {"x.record": huge}))


def test_bytes_that_are_no_example_and_compressed_files(tmp_path: Path) -> None:
    one = record_bytes(record_values())
    with (tmp_path / "x.record").open("wb") as file:
        file.write(one)
        tfrecord_file.write(file, b"\xff\xff\xff no message")
    put(tmp_path, {"y.record": gzip.compress(one), "z.record": b""})
    data = formats.read(tmp_path)
    assert len(data.examples) == 1
    said = [f"{found.origin}: {found.message}" for found in data.findings]
    assert any(line.startswith("x.record: record 1: No tf.train.Example") for line in said)
    assert any("y.record: record 0: Compressed with gzip" in line for line in said)
    assert "z.record: The file holds no record." in said


def test_encodings_that_are_mixed_or_said_wrongly(tmp_path: Path) -> None:
    png = record_values(encoded=[picture(64, 48, "PNG")])
    named = record_values(format=[b"JPG"])
    data = formats.read(put(tmp_path, {"x.record": record_bytes(named, named, png)}))
    said = sorted(found.message for found in data.findings)
    assert problems(data) == ["encodings_mixed", "encodings_mixed"]
    assert said[0] == "1 of 3 images are png, most are jpeg."
    assert said[1] == "image/format says 'jpeg', and the bytes are png. 1 of 3 records."


def test_sizes_that_are_missing_come_from_the_image(tmp_path: Path) -> None:
    sizes = [
        record_values(height=None, width=None),
        record_values(height=[1], width=[1]),
        record_values(height=None, encoded=[b"no image"]),
    ]
    data = formats.read(put(tmp_path, {"x.record": record_bytes(*sizes)}))
    assert [(example.width, example.size_is_from_image) for example in data.examples] == [(64, True), (64, True), (None, True)]
    assert [example.is_normalised for example in data.examples] == [False, False, True]


def test_a_record_without_its_image(tmp_path: Path) -> None:
    data = formats.read(put(tmp_path, {"x.record": record_bytes(record_values(encoded=[b""]))}))
    assert data.examples[0].image is None and problems(data) == ["image_missing"]


@pytest.mark.parametrize(
    ("text", "problem", "said"),
    [
        ("item { id: 0 name: 'none' } item { id: 1 name: 'cat' }", "label_map_background", "'none' has the id 0"),
        ("item { id: 1 name: 'cat' } item { id: 4 name: 'dog' }", "label_map_gaps", "2 classes have ids up to 4"),
        (
            "item { id: 1 name: 'cat' } item { id: 1 name: 'dog' }",
            "label_map_duplicates",
            "The id 1 is given to 'cat' and to 'dog'",
        ),
        ("item { id: 1 name: 'cat' \n", "annotation_unparsable", "m.pbtxt:1: item: The block 'item' is never closed"),
    ],
)
def test_what_is_wrong_with_the_label_map_is_said(tmp_path: Path, text: str, problem: str, said: str) -> None:
    data = formats.read(put(tmp_path, {"x.record": record_bytes(record_values()), "m.pbtxt": text}))
    assert said in finding(data, problem)


def test_a_label_map_that_was_named_must_be_readable(tmp_path: Path) -> None:
    put(tmp_path, {"x.record": record_bytes(record_values()), "other/m.txt": "item {"})
    with pytest.raises(InvalidInputError, match=r"m\.txt:1"):
        formats.read(tmp_path, labels=tmp_path / "other" / "m.txt")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        formats.read(tmp_path, labels=tmp_path / "gone.pbtxt")


WITH_TENSORFLOW = """
import sys, tensorflow as tf
read = [tf.train.Example.FromString(raw.numpy()) for raw in tf.data.TFRecordDataset(sys.argv[1])]
assert read[0].features.feature["image/object/bbox/ymin"].float_list.value[0] == 0.5
assert read[1].features.feature["image/object/bbox/ymin"].WhichOneof("kind") == "float_list"
with tf.io.TFRecordWriter(sys.argv[2]) as writer:
    writer.write(read[0].SerializeToString())
"""


@pytest.mark.tensorflow
def test_tensorflow_reads_what_is_written_and_the_other_way_round(tmp_path: Path) -> None:
    put(tmp_path, {"x.record": record_bytes(record_values([(0.25, 0.5, 0.75, 1.0)]), record_values([]))})
    paths = [str(tmp_path / name) for name in ("x.record", "y.record")]
    done = subprocess.run([sys.executable, "-c", WITH_TENSORFLOW, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (record,) = list(tfrecord_file.read(tmp_path / "y.record"))
    assert isinstance(record, tfrecord_file.Record)
    assert list(record_features.parse_features(record.data)["image/object/bbox/ymin"][1]) == [0.5]
