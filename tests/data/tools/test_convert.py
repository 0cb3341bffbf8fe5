"""Converting: nothing is written over, nothing is left half-written, and what is lost is counted."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_cli import as_json, call
from tests.data.dataset_files import picture, put, small_set
from unstall.base.errors import InvalidInputError
from unstall.data import formats
from unstall.data.example import DataSet, ImageSource, Origin
from unstall.data.io.columns import create_example as make_example
from unstall.data.tools.convert import convert, write_aside


@pytest.fixture
def voc(tmp_path: Path) -> Path:
    formats.FORMATS.module("voc").write(small_set(tmp_path), tmp_path / "voc")
    return tmp_path / "voc"


def test_a_folder_that_is_not_empty_is_refused(voc: Path, tmp_path: Path) -> None:
    put(tmp_path, {"taken/mine.txt": "precious"})
    with pytest.raises(InvalidInputError, match="is not empty"):
        convert(voc, tmp_path / "taken", "coco")
    with pytest.raises(InvalidInputError, match="is no folder"):
        convert(voc, tmp_path / "taken" / "mine.txt", "coco")
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["mine.txt"]


def test_an_empty_folder_is_taken(voc: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert convert(voc, tmp_path / "out", "coco").format == "coco"
    assert formats.recognise(tmp_path / "out") == "coco"


def test_what_breaks_while_writing_leaves_nothing(tmp_path: Path) -> None:
    data = small_set(tmp_path)
    broken = replace(data, classes=("cat",))  # the second class has no name: the writer fails at its first box
    with pytest.raises(IndexError):
        write_aside(broken, tmp_path / "out", "voc")
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir() if "unfinished" in path.name] == []


@pytest.mark.parametrize("name", ["coco", "voc", "yolo"])
def test_images_are_linked_on_request_and_copied_otherwise(voc: Path, tmp_path: Path, name: str) -> None:
    for link in (False, True):
        convert(voc, tmp_path / str(link), name, link=link)
        images = list((tmp_path / str(link)).rglob("*.jpg"))
        assert len(images) == 2
        assert {image.stat().st_nlink for image in images} == {2 if link else 1}


def test_images_within_records_are_written_as_files(voc: Path, tmp_path: Path) -> None:
    convert(voc, tmp_path / "records", "tfrecord")
    convert(tmp_path / "records", tmp_path / "back", "voc", link=True)
    before = {path.name: path.read_bytes() for path in (voc / "JPEGImages").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "back" / "JPEGImages").iterdir()} == before


def lossy_set(root: Path) -> DataSet:
    """An image that is not there, a box without a class, one of NaN, one whose image has no size."""
    put(root, {"a.jpg": picture(), "bad.jpg": b"no image"})
    boxes = [(1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 4.0), (np.nan, 2.0, 3.0, 4.0)]
    origin = Origin("made")
    return DataSet(
        root,
        "made",
        ("cat",),
        (5,),
        [
            make_example("a.jpg", ImageSource(root / "a.jpg"), (64, 48), boxes, [0, -1, 0], origin, crowd=[True, True, True]),
            make_example("gone.jpg", None, (64, 48), boxes[:1], [0], origin),
            make_example(
                "bad.jpg", ImageSource(root / "bad.jpg"), (None, None), [(0.1, 0.2, 0.3, 0.4)], [0], origin, is_normalised=True
            ),
        ],
    )


SHARES = "boxes in shares of an image whose size is unknown"
UNPLACED = {"images that are not there or have no known size": 2, "boxes of images that are not there or have no known size": 2}
NO_CLASS = {"boxes without a known class": 1, "boxes with numbers that are not finite": 1}


@pytest.mark.parametrize(
    ("name", "lost", "kept"),
    [
        ("coco", {**NO_CLASS, SHARES: 1}, 2),
        ("voc", {**NO_CLASS, SHARES: 1, "marks of a crowd": 1, "numbers of classes (the classes are kept)": 1}, 2),
        ("yolo", {**NO_CLASS, **UNPLACED, "marks 'crowd'": 1, "numbers of classes (the classes are kept)": 1}, 1),
        ("tfrecord", {**NO_CLASS, **UNPLACED}, 1),
    ],
)
def test_what_a_format_cannot_hold_is_counted(tmp_path: Path, name: str, lost: dict[str, int], kept: int) -> None:
    assert formats.FORMATS.module(name).write(lossy_set(tmp_path), tmp_path / "out") == lost
    assert formats.read(tmp_path / "out").box_count == kept


def test_names_from_a_record_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    put(tmp_path, {"a.jpg": picture()})
    names = [
        "../../evil.jpg",
        "/etc/evil.jpg",
        "..",
        "",
        "a/../../b.jpg",
        "C:\\x.jpg",
        "nul\0.jpg",
        "x" * 500 + ".jpg",
        "A.JPG",
        "a.jpg",
        "a.png",
        "half\ud800.jpg",
    ]
    made = [make_example(name, ImageSource(tmp_path / "a.jpg"), (64, 48), [(1, 2, 3, 4)], [0], Origin("made")) for name in names]
    data = DataSet(tmp_path, "made", ("cat",), (1,), made)
    for name in formats.FORMATS.names():
        target = tmp_path / "deep" / "er" / name
        formats.FORMATS.module(name).write(data, target)
        after = formats.read(target)
        assert after.box_count == len(names)
        assert len({str(one.image) for one in after.examples}) == len(names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jpg", "deep"]
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["er"]


def test_an_image_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    made = make_example("a.jpg", ImageSource(tmp_path / "gone.jpg"), (64, 48), [(1, 2, 3, 4)], [0], Origin("made"))
    data = DataSet(tmp_path, "made", ("cat",), (1,), [made])
    assert formats.FORMATS.module("coco").write(data, tmp_path / "out") == {"images that could not be read": 1}


# --- the command ---


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
from unstall.cli import main
main()
"""


@pytest.mark.parametrize("name", formats.FORMATS.names())
def test_a_disk_that_takes_no_more_is_an_error_and_leaves_nothing(voc: Path, tmp_path: Path, name: str) -> None:
    """Files may have 200 bytes: the first image does not fit, as on a full disk."""
    command = [sys.executable, "-c", FULL, "data", "convert", str(voc), str(tmp_path / "out"), "--to", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"unstall: Cannot write to '{tmp_path / 'out'}': File too large.\n"
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_the_command_says_what_was_written_and_what_was_lost(voc: Path, tmp_path: Path) -> None:
    done = call("data", "convert", str(voc), str(tmp_path / "out"), "--to", "yolo")
    assert done.returncode == 0, done.stderr
    assert "2 images, 4 boxes, 2 classes (train 1, val 1)" in done.stdout
    assert "not kept, since yolo cannot hold it: 2 marks 'truncated'" in done.stdout


def test_the_command_speaks_json(voc: Path, tmp_path: Path) -> None:
    result = as_json("data", "convert", str(voc), str(tmp_path / "out"), "--to", "tfrecord")
    assert result["to"] == {"path": str(tmp_path / "out"), "format": "tfrecord"}
    assert (result["images"], result["boxes"], result["lost"]) == (2, 4, {})


def test_the_command_takes_a_label_map_from_elsewhere(voc: Path, tmp_path: Path) -> None:
    put(tmp_path, {"own.txt": "dog\ncat\n"})
    result = as_json("data", "convert", str(voc), str(tmp_path / "out"), "--to", "coco", "--label-map", str(tmp_path / "own.txt"))
    assert result["classes"] == ["dog", "cat"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone", "out", "--to", "coco"], "'gone' is not there"),
        ([".", "out", "--to", "kitti"], "There is no format 'kitti'"),
        ([".", "out", "--to", "coco", "--format", "kitti"], "There is no format 'kitti'"),
        ([".", "out", "--to", "coco", "--json", "/no/such/folder/x.json"], "Cannot write the JSON"),
    ],
)
def test_mistakes_are_said_without_a_traceback(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join(str(Path(part).absolute()) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part),
    )
    monkeypatch.chdir(tmp_path)
    done = call("data", "convert", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_nothing_is_written_where_nothing_could_be_read(tmp_path: Path) -> None:
    put(tmp_path, {"set/a.json": '{"images": [{"id": 1}], "annotations": [], "categories": []}'})
    with pytest.raises(InvalidInputError, match=r"has no image that could be written\. a\.json: images\[0\]\.file_name"):
        convert(tmp_path / "set", tmp_path / "out", "yolo")
    assert not (tmp_path / "out").exists()
