"""Records and label maps: patterns, lists, placeholders, and what can be counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tfod.configs import FASTER_RCNN, converted, row_of, written
from unstall.data.formats import read
from unstall.data.io import tfrecord_file
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.tfod.conversion import convert, write
from unstall.tfod.inputs import PathOverrides, as_pattern, is_placeholder, join_patterns


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """data.record with ten lying images, and label_map.pbtxt."""
    folder = tmp_path_factory.mktemp("shapes") / "of"
    write_shapes(folder, Shapes(10, 64, 48, 0), "tfrecord", splits={})
    return folder


def readers(train: str, labels: str = "labels.pbtxt", val: str = "") -> str:
    paths = f"tf_record_input_reader {{ input_path: {train} }}"
    scored = f"eval_input_reader {{ tf_record_input_reader {{ input_path: {val} }} }}" if val else ""
    return f'train_input_reader {{ label_map_path: "{labels}" {paths} }} {scored}'


def shard(folder: Path, names: list[str], source: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(source.read_bytes())


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("a/train.record@10", "a/train.record-?????-of-00010"),
        ("a/train@3.tfrecord", "a/train-?????-of-00003.tfrecord"),
        ("a/train@*", "a/train-?????-of-?????"),
        ("a/train-?????-of-00010", "a/train-?????-of-00010"),
        ("me@home/train.record", "me@home/train.record"),
    ],
)
def test_shards_by_their_count(path: str, pattern: str) -> None:
    assert as_pattern(path) == pattern


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("PATH_TO_BE_CONFIGURED/x", True),
        ("gs://${YOUR_GCS_BUCKET}/data/x", True),
        ("${NOT_SET_ANYWHERE}/x", True),
        ("<path to>/x", True),
        ("gs://bucket/x", False),
        ("/data/train.record", False),
    ],
)
def test_placeholders(path: str, is_one: bool) -> None:
    assert is_placeholder(path) == is_one


def test_placeholders_are_kept_and_named_as_to_be_set() -> None:
    found = converted(
        written(readers=readers('"gs://${YOUR_GCS_BUCKET}/train@10"', "PATH_TO_BE_CONFIGURED/map.pbtxt", '"gs://b/val"'))
    )
    assert found.settings["data"] == "gs://${YOUR_GCS_BUCKET}/train-?????-of-00010"
    assert found.settings["val_data"] == "gs://b/val"
    named = [(each.setting, each.why) for each in found.to_set if each.setting != "epochs"]
    assert named == [("data", "a placeholder"), ("label_map", "a placeholder")]


def test_paths_of_windows_are_kept_and_named() -> None:
    found = converted(written(readers=readers("'D:/records/train-?????-of-00005'")))
    assert found.settings["data"] == "D:/records/train-?????-of-00005"
    assert (found.to_set[0].setting, found.to_set[0].why) == ("data", "a path of Windows")


def test_what_is_not_there_is_named() -> None:
    found = converted(written(readers=readers("'nowhere/train.record'")))
    assert ("data", "nothing is there") in [(each.setting, each.why) for each in found.to_set]
    assert Path(found.settings["data"]) == Path.cwd() / "nowhere" / "train.record"
    assert converted(written(readers="")).to_set[0].why == "the config names no records"


def test_records_beside_the_config_are_found_counted_and_looked_at(tmp_path: Path, shapes: Path) -> None:
    shard(tmp_path / "data", ["train-00000-of-00002", "train-00001-of-00002"], shapes / "data.record")
    (tmp_path / "labels.pbtxt").write_bytes((shapes / "label_map.pbtxt").read_bytes())
    config = tmp_path / "pipeline.config"
    text = written(FASTER_RCNN, readers=readers("['data/train-00000-of-00002', 'data/train-00001-of-00002']", val="'data/none'"))
    config.write_text(text, encoding="utf-8")
    found = convert(config)
    assert found.settings["data"] == str(tmp_path / "data" / "train-0000?-of-00002")
    assert (found.images, found.settings["epochs"]) == (20, 500)
    assert found.settings["detector"]["image_size"] == [608, 1024], "the images lie"
    assert row_of(found, "num_steps").became == "carried over"
    assert found.remarks[-1] == "num_classes is 3 and the label map has 6: those of the label map are learned"
    assert [each.setting for each in found.to_set] == ["val_data"]


def test_records_of_several_folders_become_a_folder_of_links(tmp_path: Path, shapes: Path) -> None:
    shard(tmp_path / "a", ["one-00000-of-00001"], shapes / "data.record")
    shard(tmp_path / "b", ["two.tfrecord"], shapes / "data.record")
    config = tmp_path / "pipeline.config"
    config.write_text(
        written(readers=readers("['a/one@1', 'b/two.tfrecord']", str(shapes / "label_map.pbtxt"))), encoding="utf-8"
    )
    found = convert(config, PathOverrides(out=str(tmp_path / "out")))
    assert found.images == 18, "a tenth of 20 is kept to score on"
    write(found, str(tmp_path / "out"))
    data = read(found.settings["data"], "tfrecord", labels=found.settings["label_map"])
    assert (len(data.examples), data.findings) == (20, ())
    elsewhere = converted(written(readers=readers("['a/x', 'b/y']")))
    assert "2 paths, not all of which are there" in elsewhere.to_set[0].why


def test_a_pattern_that_holds_more_than_was_asked_for_is_none(tmp_path: Path, shapes: Path) -> None:
    shard(tmp_path, ["a1.record", "a2.record", "a3.record"], shapes / "data.record")
    asked = [str(tmp_path / "a1.record"), str(tmp_path / "a2.record")]
    assert join_patterns(asked) is None
    (tmp_path / "a3.record").unlink()
    assert join_patterns(asked) == str(tmp_path / "a?.record")


def test_paths_said_beside_the_config_go_before_its_own(shapes: Path) -> None:
    given = PathOverrides(str(shapes), str(shapes / "label_map.pbtxt"), str(shapes / "data.record"))
    found = converted(written(), given)
    assert (found.settings["data"], found.images) == (str(shapes), 10)
    assert [each.setting for each in found.to_set] == []
    assert row_of(found, "train_input_reader.tf_record_input_reader.input_path").why == "said with --data"


def test_a_label_map_that_cannot_be_read_is_named_with_its_line(tmp_path: Path, shapes: Path) -> None:
    broken = tmp_path / "map.pbtxt"
    broken.write_text("item {\n id: one\n}", encoding="utf-8")
    found = converted(written(), PathOverrides(str(shapes), str(broken)))
    assert found.to_set[0].why == "line 2: Expected a whole number as id. Received: 'one'."


def test_records_without_an_example_and_a_label_map_without_a_class_are_to_be_set(tmp_path: Path, shapes: Path) -> None:
    (tmp_path / "random.record").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "map.pbtxt").write_text("# nothing\n", encoding="utf-8")
    found = converted(
        written(), PathOverrides(str(tmp_path / "random.record"), str(tmp_path / "map.pbtxt"), str(shapes / "data.record"))
    )
    named = [(each.setting, each.why) for each in found.to_set]
    assert ("data", "no example could be read in it") in named and ("label_map", "it names no class") in named


def test_further_eval_readers_are_left_out() -> None:
    second = 'eval_input_reader { tf_record_input_reader { input_path: "gs://b/other" } label_map_path: "other" }'
    found = converted(written(more=second))
    assert [row.became for row in found.rows if row.value == '"gs://b/other"'] == ["left out"]
    assert found.settings["val_data"] == "PATH_TO_BE_CONFIGURED/val-?????-of-00010"


def test_records_are_counted_to_the_first_break(tmp_path: Path, shapes: Path) -> None:
    whole = (shapes / "data.record").read_bytes()
    (tmp_path / "cut.record").write_bytes(whole[:-10])
    (tmp_path / "none.record").write_bytes(b"")
    assert [
        tfrecord_file.count(shapes / "data.record"),
        tfrecord_file.count(tmp_path / "cut.record"),
        tfrecord_file.count(tmp_path / "none.record"),
    ] == [10, 9, 0]
