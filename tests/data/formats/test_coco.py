"""COCO files as people and tools write them, whole and broken."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.data.dataset_files import coco_box, coco_image, coco_text, finding, picture, problems, put
from unstall.base.errors import InvalidInputError
from unstall.data import formats
from unstall.data.check.context import find_box_origin, find_image_origin

CATS = [{"id": 1, "name": "cat"}, {"id": 7, "name": "dog"}]


def test_the_layout_of_coco_itself(tmp_path: Path) -> None:
    text = coco_text([coco_image(9, "x.jpg")], [coco_box(9, 7, iscrowd=1), coco_box(9)], CATS)
    files = {
        "annotations/instances_train2017.json": text,
        "annotations/captions_train2017.json": text,
        "annotations/instances_val2017.json": text,
        "train2017/x.jpg": picture(),
        "images/val2017/x.jpg": picture(),
    }
    data = formats.read(put(tmp_path, files))
    assert data.format == "coco"
    assert (data.classes, data.class_numbers) == (("cat", "dog"), (1, 7))
    assert problems(data) == []
    assert [example.split for example in data.examples] == ["train", "val"]
    assert [example.name for example in data.examples] == ["x.jpg", "val/x.jpg"]
    first = data.examples[0]
    assert first.image is not None and first.image.path == tmp_path / "train2017/x.jpg"
    assert first.boxes.tolist() == [[1, 2, 11, 22], [1, 2, 11, 22]]
    assert first.classes.tolist() == [1, 0]
    assert first.crowd.tolist() == [True, False]
    assert str(find_box_origin(first, 1)) == "annotations/instances_train2017.json: images[0]: annotations[1].bbox"
    assert str(find_image_origin(first)) == "annotations/instances_train2017.json: images[0]"


def test_the_layout_of_roboflow(tmp_path: Path) -> None:
    text = coco_text([coco_image(0, "x.jpg")], [coco_box(0)], CATS)
    files = {
        f"{split}/{name}": text if name.endswith("json") else picture()
        for split in ("train", "valid")
        for name in ("x.jpg", "_annotations.coco.json")
    }
    data = formats.read(put(tmp_path, files))
    assert [(example.name, example.split) for example in data.examples] == [("x.jpg", "train"), ("val/x.jpg", "val")]
    assert all(example.image for example in data.examples)
    assert problems(data) == []


def test_images_in_a_folder_of_any_name_are_found_where_only_one_has_them(tmp_path: Path) -> None:
    text = coco_text([coco_image(0, "x.jpg"), coco_image(1, "sub/y.jpg")], [coco_box(0)], CATS)
    files = {"labels/export.json": text, "my photos/raw/x.jpg": picture(), "my photos/raw/sub/y.jpg": picture()}
    data = formats.read(put(tmp_path, files))
    assert problems(data) == ["annotation_empty"]
    assert [example.image.path for example in data.examples if example.image] == [
        tmp_path / "my photos/raw/x.jpg",
        tmp_path / "my photos/raw/sub/y.jpg",
    ]
    data = formats.read(put(tmp_path, {"thumbnails/x.jpg": picture()}))  # which of the two is meant, nobody says
    assert "None of the 2 images is there" in finding(data, "image_missing")


def test_a_file_beside_its_images_without_sizes_or_areas(tmp_path: Path) -> None:
    image = {"id": "a1", "file_name": "sub/x.png"}
    put(tmp_path, {"my_set.json": coco_text([image], [coco_box("a1")], CATS), "sub/x.png": picture(30, 20, "PNG")})  # type: ignore[arg-type]
    data = formats.read(tmp_path / "my_set.json")
    (example,) = data.examples
    assert (example.width, example.height, example.size_is_from_image, example.split) == (30, 20, True, "")
    assert problems(data) == []


def test_boxes_of_one_image_keep_the_order_of_the_file(tmp_path: Path) -> None:
    boxes = [coco_box(number % 2, box=(number, 0, 1, 1)) for number in range(10)]
    put(
        tmp_path, {"a.json": coco_text([coco_image(1, "b.jpg"), coco_image(0, "a.jpg")], boxes, CATS), "a.jpg": b"", "b.jpg": b""}
    )
    data = formats.read(tmp_path)
    assert data.examples[0].boxes[:, 0].tolist() == [1, 3, 5, 7, 9]
    assert data.examples[0].box_lines is not None
    assert data.examples[0].box_lines.tolist() == [1, 3, 5, 7, 9]


def test_nan_as_python_writes_it_is_kept_for_the_check(tmp_path: Path) -> None:
    text = coco_text([coco_image(1, "a.jpg")], [coco_box(1, box=(float("nan"), 0, float("inf"), 1))], CATS)
    assert "NaN" in text
    put(tmp_path, {"a.json": text, "a.jpg": b"x"})
    (example,) = formats.read(tmp_path).examples
    assert np.isnan(example.boxes[0, 0]) and example.boxes[0, 3] == 1


def test_wrong_entries_are_named_and_the_others_are_read(tmp_path: Path) -> None:
    wrong = [
        coco_box(1),
        {"image_id": 1, "category_id": 1},
        coco_box(1, box=(1, 2, 3)),
        coco_box(1, box=("1", 2, 3, 4)),  # type: ignore[arg-type]
        coco_box(1, category=[1]),  # type: ignore[arg-type]
        None,
        coco_box(1, 99),
        coco_box(42),
        coco_box(1),
    ]
    put(tmp_path, {"a.json": coco_text([coco_image(1, "a.jpg"), {"id": 3}], wrong, CATS), "a.jpg": b"x"})
    data = formats.read(tmp_path)
    (example,) = data.examples
    assert example.count == 3
    assert example.classes.tolist() == [0, -1, 0]
    places = [str(found.origin) for found in data.findings if found.problem == "annotation_unparsable"]
    wanted = [
        "images[1].file_name",
        "annotations[1].bbox",
        "annotations[2].bbox",
        "annotations[3].bbox[0]",
        "annotations[4].category_id",
    ]
    assert places == [f"a.json: {place}" for place in [*wanted, "annotations[5]"]]
    assert "annotations[6].category_id: There is no category with the id 99" in finding(data, "class_unknown")
    assert "annotations[7].image_id: There is no image with the id 42" in finding(data, "image_missing")


def test_images_missing_in_another_case_and_outside(tmp_path: Path) -> None:
    names = ["a.jpg", "B.JPG", "gone.jpg", "../secret.jpg", "/etc/passwd", "sub/../a.jpg"]
    images = [coco_image(number, name) for number, name in enumerate(names)]
    boxes = [coco_box(number) for number in range(len(names))]
    put(tmp_path, {"set/a.json": coco_text(images, boxes, CATS), "set/a.jpg": b"x", "set/b.jpg": b"x", "secret.jpg": b"x"})
    data = formats.read(tmp_path / "set")
    assert problems(data) == ["image_missing", "path_case_differs", "path_climbs_out", "path_climbs_out"]
    assert [example.image is not None for example in data.examples] == [True, True, False, False, False, True]
    assert "'B.JPG' is there only as 'b.jpg'" in finding(data, "path_case_differs")


@pytest.mark.parametrize(
    "said", ["/home/anna/photos/a.jpg", "C:\\photos\\a.jpg", "../../upload/photos/a.jpg", "photos\\a.jpg", ".\\photos\\a.jpg"]
)
def test_a_path_of_another_machine_leads_to_the_file_with_the_longest_end(tmp_path: Path, said: str) -> None:
    content = coco_text([coco_image(1, said)], [coco_box(1)], CATS)
    put(tmp_path, {"a.json": content, "images/photos/a.jpg": b"x", "a.jpg": b"another", "photos.jpg": b"x"})
    data = formats.read(tmp_path)
    assert problems(data) == ["path_foreign"]
    assert data.examples[0].image is not None
    assert data.examples[0].image.path == tmp_path / "images/photos/a.jpg"


def test_ids_as_pandas_writes_them_and_sizes_as_text(tmp_path: Path) -> None:
    images = [{"id": 1.0, "file_name": "a.jpg", "width": "64", "height": "48.0"}, {"id": 2.0, "file_name": "b.jpg", "width": "?"}]
    boxes = [{"image_id": 1, "category_id": 7.0, "bbox": [1, 2, 3, 4]}, {"image_id": 2.0, "category_id": 7, "bbox": [1, 2, 3, 4]}]
    content = coco_text(images, boxes, [{"id": 7.0, "name": "cat"}])
    put(tmp_path, {"a.json": content, "a.jpg": b"x", "b.jpg": b"x"})
    data = formats.read(tmp_path)
    assert not problems(data)
    assert (data.box_count, data.class_numbers) == (2, (7,))
    assert (data.examples[0].width, data.examples[0].height) == (64, 48)


@pytest.mark.parametrize(("said", "referred"), [("7", "7"), ("7", 7), (7, "7"), ("007", 7), ("dog", "dog")])
def test_ids_in_quotes_are_the_ids_they_are(tmp_path: Path, said: int | str, referred: int | str) -> None:
    """Also where the entry has quotes and what refers to it has none."""
    image, box = {"id": said, "file_name": "a.jpg"}, {"image_id": referred, "category_id": referred, "bbox": [1, 2, 3, 4]}
    content = coco_text([image], [box], [{"id": 3, "name": "cat"}, {"id": said, "name": "dog"}])
    data = formats.read(put(tmp_path, {"a.json": content, "a.jpg": picture()}))
    assert not problems(data)
    assert [data.classes[each] for each in data.examples[0].classes] == ["dog"]
    assert data.class_numbers == (3, 4 if said == "dog" else 7)


def test_two_ids_that_are_one_number_are_told_apart_and_a_bare_one_is_neither(tmp_path: Path) -> None:
    images = [{"id": "1", "file_name": "a.jpg"}, {"id": "01", "file_name": "b.jpg"}]
    boxes = [{"image_id": key, "category_id": 1, "bbox": [1, 2, 3, 4]} for key in ("01", 1)]
    data = formats.read(put(tmp_path, {"a.json": coco_text(images, boxes, CATS), "a.jpg": picture(), "b.jpg": picture()}))
    assert [example.count for example in data.examples] == [0, 1]
    assert "There is no image with the id 1" in finding(data, "image_missing")


def test_an_id_that_is_no_whole_number_is_named(tmp_path: Path) -> None:
    categories = [{"id": 1.5, "name": "half"}, {"id": float("inf"), "name": "all"}, {"id": 1, "name": "one"}]
    put(tmp_path, {"a.json": coco_text([coco_image(1, "a.jpg")], [coco_box(1)], categories), "a.jpg": b"x"})
    data = formats.read(tmp_path)
    assert data.classes == ("one",)
    assert [str(each.origin) for each in data.findings] == ["a.json: categories[0]", "a.json: categories[1]"]


def test_a_file_named_like_its_split_in_a_folder_of_labels(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {}
    for split in ("train", "val"):
        files[f"labels/{split}.json"] = coco_text([coco_image(1, "x.jpg")], [coco_box(1)], CATS)
        files[f"images/{split}/x.jpg"] = picture()
    data = formats.read(put(tmp_path, files))
    assert problems(data) == []
    assert [(example.split, example.image is not None) for example in data.examples] == [("train", True), ("val", True)]


def test_a_name_written_as_for_a_web_page(tmp_path: Path) -> None:
    images = [coco_image(1, "images/a%20b.jpg"), coco_image(2, "100%25.jpg"), coco_image(3, "50%.jpg")]
    files = {"images/a b.jpg": picture(), "images/100%.jpg": picture(), "images/50%.jpg": picture()}
    data = formats.read(put(tmp_path, {"a.json": coco_text(images, [coco_box(1), coco_box(2), coco_box(3)], CATS)} | files))
    assert [example.image is not None for example in data.examples] == [True, True, True]
    assert problems(data) == ["path_foreign", "path_foreign"]
    assert data.findings[0].message == "'images/a%20b.jpg' is written as for a web page. 'images/a b.jpg' is taken for it."


def test_accents_that_macos_stores_in_another_way(tmp_path: Path) -> None:
    on_disk, said = "ko\u0308ln.jpg", "k\u00f6ln.jpg"
    data = formats.read(put(tmp_path, {"a.json": coco_text([coco_image(1, said)], [coco_box(1)], CATS), on_disk: picture()}))
    assert data.examples[0].image is not None and data.examples[0].image.path.name == on_disk
    assert "its accents are stored in another way" in finding(data, "path_case_differs")


def test_the_layout_of_fiftyone(tmp_path: Path) -> None:
    content = coco_text([coco_image(1, "a.jpg")], [coco_box(1)], CATS)
    put(tmp_path, {"labels.json": content, "data/a.jpg": b"x"})
    assert formats.read(tmp_path).examples[0].image is not None


def test_no_image_at_all_is_said_once(tmp_path: Path) -> None:
    images = [coco_image(number, f"{number}.jpg") for number in range(50)]
    put(tmp_path, {"a.json": coco_text(images, [coco_box(number) for number in range(50)], CATS)})
    data = formats.read(tmp_path)
    assert problems(data) == ["image_missing"]
    assert "None of the 50 images is there" in finding(data, "image_missing")
    assert len(data.examples) == 50


def test_an_image_without_boxes_is_noted(tmp_path: Path) -> None:
    put(tmp_path, {"a.json": coco_text([coco_image(1, "a.jpg")], [], CATS), "a.jpg": b"x"})
    assert "images[0]" in finding(formats.read(tmp_path), "annotation_empty")


def test_categories_twice_and_background(tmp_path: Path) -> None:
    cats = [{"id": 0, "name": "background"}, {"id": 1, "name": "cat"}, {"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]
    put(tmp_path, {"a.json": coco_text([coco_image(1, "a.jpg")], [coco_box(1)], cats), "a.jpg": b"x"})
    data = formats.read(tmp_path)
    assert problems(data) == ["label_map_background", "label_map_duplicates", "label_map_duplicates"]
    assert data.classes == ("background", "cat", "cat")


def test_classes_of_two_files_are_joined_by_name(tmp_path: Path) -> None:
    files = {
        "train.json": coco_text([coco_image(1, "a.jpg")], [coco_box(1, 1)], [{"id": 1, "name": "cat"}]),
        "val.json": coco_text(
            [coco_image(1, "b.jpg")], [coco_box(1, 1), coco_box(1, 2)], [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]
        ),
        "a.jpg": b"x",
        "b.jpg": b"x",
    }
    data = formats.read(put(tmp_path, files))
    assert data.classes == ("cat", "dog")
    assert data.examples[1].classes.tolist() == [1, 0]
    assert "'cat' has the id 2 here, and 1 in another file" in finding(data, "label_map_duplicates")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"images": [], "annotations": [\n\n  oops]}', "a.json:3: No JSON: Expecting value in column 3"),
        ('{"images": 3, "annotations": []}', "a.json: images: Expected a list. Received: a whole number."),
        ('{"annotations": [], "categories": []}', "a.json: images: Expected this field"),
        ('["images", "annotations"]', "a.json: Expected an object. Received: a list."),
        ('{"images": [], "annotations": ' + "[" * 200_000, "a.json: Nested too deeply"),
        ('{"images": [], "x": ' + "9" * 5000 + ', "annotations": [NaN]}', "a.json: No JSON: "),
    ],
)
def test_what_cannot_be_read_at_all_is_an_error_that_says_where(tmp_path: Path, content: str, said: str) -> None:
    put(tmp_path, {"a.json": content})
    with pytest.raises(InvalidInputError) as caught:
        formats.read(tmp_path)
    assert said in str(caught.value)


def test_a_broken_file_does_not_stop_the_others(tmp_path: Path) -> None:
    good = coco_text([coco_image(1, "a.jpg")], [coco_box(1)], CATS)
    data = formats.read(put(tmp_path, {"train.json": good, "val.json": good[:-30], "a.jpg": b"x"}))
    assert len(data.examples) == 1
    assert finding(data, "annotation_unparsable").startswith("val.json:1: No JSON")


def test_a_mark_at_the_beginning_and_other_encodings(tmp_path: Path) -> None:
    text = coco_text([coco_image(1, "ä.jpg")], [coco_box(1)], CATS)
    raw = json.dumps(json.loads(text), ensure_ascii=False)
    for name, encoding in (("bom", "utf-8-sig"), ("wide", "utf-16")):
        put(tmp_path, {f"{name}/a.json": raw.encode(encoding), f"{name}/ä.jpg": b"x"})
        data = (
            formats.read(tmp_path / name, "coco") if encoding == "utf-8-sig" else formats.read(tmp_path / name / "a.json", "coco")
        )
        assert data.examples[0].name == "ä.jpg" and problems(data) == []


def test_a_label_map_has_no_use_here(tmp_path: Path) -> None:
    put(tmp_path, {"a.json": coco_text([], [], CATS)})
    with pytest.raises(InvalidInputError, match="has no use there"):
        formats.read(tmp_path, labels=tmp_path / "x.pbtxt")


def test_other_json_files_do_not_hide_the_annotations(tmp_path: Path) -> None:
    text = coco_text([coco_image(0, "x.jpg")], [coco_box(0)], CATS)
    put(tmp_path, {"config.json": "{}", "train/_annotations.coco.json": text, "train/x.jpg": picture(), "train/notes.json": "[]"})
    data = formats.read(tmp_path)
    assert len(data.examples) == 1 and problems(data) == []


def test_an_empty_file_of_instances_is_noted(tmp_path: Path) -> None:
    text = coco_text([coco_image(0, "x.jpg")], [coco_box(0)], CATS)
    data = formats.read(
        put(tmp_path, {"annotations/instances_train.json": text, "annotations/instances_val.json": "", "train/x.jpg": b"x"})
    )
    assert finding(data, "annotation_unparsable").startswith("annotations/instances_val.json: The file is empty")
