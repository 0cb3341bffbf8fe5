"""Which class numbers of records are compared with the label map and the number of classes, and which are nobody's fault."""

from __future__ import annotations

from pathlib import Path

from unstall.data.io import record_features, tfrecord_file
from unstall.journal.events import ClassesCompared
from unstall.sensors.record_classes import compare_classes

MAP = "item { id: 1 name: 'cat' }\nitem { id: 2 name: 'dog' }\nitem { id: 3 name: 'hen' display_name: 'Hen' }\n"
OBJECTS = list[tuple[int, str]]


def compare(folder: Path, *records: OBJECTS, num_classes: str = "num_classes: 3", more: str = "") -> ClassesCompared | None:
    """Of each record: the numbers of its objects and their texts, which are left out where all are empty."""
    with (folder / "train-0.record").open("wb") as file:
        for objects in records:
            texts = [text.encode() for _, text in objects]
            values: dict[str, record_features.Values] = {
                "image/encoded": [b"\xff\xd8\xff"],
                "image/object/class/label": [number for number, _ in objects],
                **({"image/object/class/text": texts} if any(texts) else {}),
            }
            tfrecord_file.write(file, record_features.encode_example(values))
    (folder / "labels.pbtxt").write_text(MAP)
    (folder / "pipeline.config").write_text(f"model {{ ssd {{\n  {num_classes}\n}} }}\nlabel_map_path: 'labels.pbtxt'\n{more}")
    command = ["python", "train.py", f"--pipeline_config_path={folder / 'pipeline.config'}"]
    return compare_classes([str(folder / "train-*.record")], command, str(folder))


def test_numbers_and_texts_of_the_map_are_in_order(tmp_path: Path) -> None:
    found = compare(tmp_path, [(1, ""), (3, "")], [(2, "dog"), (0, "Hen")])
    assert found is not None
    assert (found.records, found.objects, found.not_in_map, found.above_num_classes, found.max_in_map) == (2, 4, 0, 0, 3)


def test_a_number_that_the_map_lacks_is_named_with_its_record(tmp_path: Path) -> None:
    found = compare(tmp_path, [(1, "")], [(2, ""), (99, "")], [(300, "")])
    assert found is not None and found.not_in_map == 2
    assert (Path(found.path).name, found.record, found.value) == ("train-0.record", 1, 99)


def test_the_text_decides_and_an_object_of_no_class_of_the_map_is_left_out(tmp_path: Path) -> None:
    """As the TensorFlow Object Detection API does it: a training on some of the classes is healthy."""
    found = compare(tmp_path, [(99, "dog"), (98, "horse")])
    assert found is not None and (found.objects, found.not_in_map, found.above_num_classes) == (2, 0, 0)


def test_a_class_above_num_classes_is_named_with_the_line_that_has_it(tmp_path: Path) -> None:
    found = compare(tmp_path, [(1, "")], [(2, "hen")], num_classes="num_classes: 2  # of 5")
    assert found is not None and (found.not_in_map, found.above_num_classes) == (0, 1)
    assert (found.record, found.value, found.num_classes, found.num_classes_line) == (1, 3, 2, 2)


def test_numbers_of_classes_that_differ_are_not_believed(tmp_path: Path) -> None:
    found = compare(tmp_path, [(3, "")], num_classes="num_classes: 2\n num_classes: 3")
    assert found is not None and (found.num_classes, found.above_num_classes) == (None, 0)


def test_two_label_maps_are_not_compared(tmp_path: Path) -> None:
    assert compare(tmp_path, [(99, "")], more="label_map_path: 'others.pbtxt'\n") is None


def test_records_without_objects_and_programs_without_a_label_map_are_not_compared(tmp_path: Path) -> None:
    assert compare(tmp_path, []) is None
    compare(tmp_path, [(99, "")])
    assert compare_classes([str(tmp_path / "train-*.record")], ["python", "train.py"], str(tmp_path)) is None
