"""Data that is in order, data with errors and warnings, and data that has not changed since it was looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.planning.preflight.contexts import context
from unstall.data.formats import read
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.planning.preflight import data_check_cache
from unstall.planning.preflight.check import CheckError, CheckOk, CheckWarning
from unstall.planning.preflight.checks.data_set import look


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


SHORT_WARMUP = {"warmup_steps": 1}


def shapes(folder: Path, count: int = 24, *defects: str) -> str:
    write_shapes(folder, Shapes(count, 64, 64), "coco", {}, list(defects), None)
    return str(folder)


def test_the_embedded_shapes_fit(tmp_path: Path) -> None:
    assert isinstance(look(context(tmp_path)), CheckOk)


def test_data_in_order_fits(tmp_path: Path) -> None:
    found = look(context(tmp_path, **SHORT_WARMUP, data=shapes(tmp_path / "set")))
    assert isinstance(found, CheckOk) and "24 images" in found.reason and "6 classes" in found.reason


def test_a_few_that_would_break_it_warn_and_many_refuse(tmp_path: Path) -> None:
    path = shapes(tmp_path / "set", 24, "image_truncated")
    small = look(context(tmp_path, **SHORT_WARMUP, data=path, max_bad_fraction=0.5))
    assert isinstance(small, CheckWarning) and "image_truncated" in small.reason and "unstall data check" in small.fix
    assert isinstance(look(context(tmp_path, **SHORT_WARMUP, data=path, max_bad_fraction=0.0)), CheckError)


def test_what_breaks_other_loaders_and_not_this_one_is_no_reason_to_refuse(tmp_path: Path) -> None:
    path = Path(shapes(tmp_path / "set"))
    file = path / "annotations" / "instances.json"
    file.write_text(file.read_text().replace('"file_name":"', '"file_name":"C:\\\\photos\\\\'))
    found = look(context(tmp_path, **SHORT_WARMUP, data=str(path), max_bad_fraction=0.0))
    assert isinstance(found, CheckWarning) and "24 × path_foreign" in found.reason


def test_a_few_bad_boxes_among_many_are_few_however_few_the_images(tmp_path: Path) -> None:
    path = Path(shapes(tmp_path / "set"))
    file = path / "annotations" / "instances.json"
    text = json.loads(file.read_text())
    (first,) = text["annotations"][:1]
    text["annotations"] += [{**first, "bbox": [5 + number % 50, 5, 2 + number % 40, 2 + number % 50]} for number in range(500)]
    for box in text["annotations"][-3:]:
        box["bbox"][2] = 0
    file.write_text(json.dumps(text))
    found = look(context(tmp_path, **SHORT_WARMUP, data=str(path), max_bad_fraction=0.05, max_boxes_per_image=1000))
    assert isinstance(found, CheckWarning) and "3 × box_no_area" in found.reason
    assert isinstance(
        look(context(tmp_path, **SHORT_WARMUP, data=str(path), max_bad_fraction=0.001, max_boxes_per_image=1000)), CheckError
    )


def test_boxes_for_which_there_is_no_room_are_counted(tmp_path: Path) -> None:
    """They would be learned as background, and nobody would know."""
    path = shapes(tmp_path / "set")
    most = max(example.count for example in read(path).examples)
    found = look(context(tmp_path, **SHORT_WARMUP, data=path, max_boxes_per_image=most - 1))
    assert (
        isinstance(found, CheckWarning)
        and "would not be learned" in found.reason
        and found.fix == f"--max-boxes-per-image {most}"
    )
    assert isinstance(look(context(tmp_path, **SHORT_WARMUP, data=path, max_boxes_per_image=most)), CheckOk)


def test_no_more_room_is_asked_for_than_there_can_be(tmp_path: Path) -> None:
    path = Path(shapes(tmp_path / "set"))
    file = path / "annotations" / "instances.json"
    text = json.loads(file.read_text())
    first = text["annotations"][0]
    text["annotations"] += [{**first, "bbox": [5 + number % 50, 5, 2 + number % 40, 2 + number % 50]} for number in range(10_500)]
    file.write_text(json.dumps(text))
    found = look(context(tmp_path, **SHORT_WARMUP, data=str(path), max_bad_fraction=1.0))
    assert "--max-boxes-per-image 10000" in getattr(found, "fix", "")


def test_a_run_that_goes_on_is_refused_other_classes_than_it_has_learned(tmp_path: Path) -> None:
    there = context(tmp_path, **SHORT_WARMUP, data=shapes(tmp_path / "set"))
    assert there.data is not None
    folder = there.folder / "checkpoints" / "step-000000005"
    folder.mkdir(parents=True)
    for classes, is_refused in ((list(there.data.classes), False), (["dog", "cat"], True)):
        (folder / "position.json").write_text(json.dumps({"position": {"data": {"classes": classes, "examples": 3}}}))
        found = look(there)
        assert isinstance(found, CheckError) is is_refused
    assert isinstance(found, CheckError) and "2 classes (dog, cat)" in found.reason and "new run" in found.fix


@pytest.mark.parametrize("data", [True, False])
def test_a_rate_that_would_never_drop_is_warned_of(tmp_path: Path, data: bool) -> None:
    own = {"data": shapes(tmp_path / "set")} if data else {}
    small = {**SHORT_WARMUP, **own, "lr_schedule": "step", "epochs": 6}
    found = look(context(tmp_path, **small, lr_milestones=(8, 11)))
    assert isinstance(found, CheckWarning) and "never drop" in found.reason and "--lr-milestones 4,5" in found.fix
    assert isinstance(look(context(tmp_path, **small, lr_milestones=(4, 11))), CheckOk)


def test_broken_data_is_refused_whatever_else_is_amiss(tmp_path: Path) -> None:
    path = shapes(tmp_path / "set", 24, "image_truncated")
    found = look(context(tmp_path, data=path, warmup_steps=1000, epochs=1, max_bad_fraction=0.0))
    assert isinstance(found, CheckError) and "image_truncated" in found.reason
    found = look(context(tmp_path, data=path, warmup_steps=1000, epochs=1, max_bad_fraction=0.5))
    assert isinstance(found, CheckWarning) and "image_truncated" in found.reason and "warm-up" in found.reason


def test_fewer_images_than_one_batch_refuse(tmp_path: Path) -> None:
    found = look(context(tmp_path, **SHORT_WARMUP, data=shapes(tmp_path / "set", 8)))
    assert isinstance(found, CheckError) and found.fix == "a smaller --batch-size"


def test_a_batch_is_made_of_images_that_are_learned_from(tmp_path: Path) -> None:
    """24 images would make a batch of 16; the 12 of the split 'train' do not."""
    write_shapes(tmp_path / "set", Shapes(24, 64, 64), "coco", {"train": 0.5, "val": 0.5}, [], None)
    found = look(context(tmp_path, **SHORT_WARMUP, data=str(tmp_path / "set"), batch_size=16))
    assert isinstance(found, CheckError) and "12 images are learned from" in found.reason


def test_what_was_found_is_kept_until_a_file_changes(tmp_path: Path) -> None:
    there = context(tmp_path, **SHORT_WARMUP, data=shapes(tmp_path / "set"))
    look(there)
    assert there.data is not None
    assert data_check_cache.recall_findings(data_check_cache.name_of(there.data, there.settings), with_images=True) is not None
    image = there.data.examples[0].image
    assert image is not None
    image.path.write_bytes(image.path.read_bytes() + b"\0")
    assert data_check_cache.recall_findings(data_check_cache.name_of(there.data, there.settings), with_images=True) is None


def test_annotations_alone_are_not_taken_for_a_look_at_the_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unstall.planning.preflight.checks.data_set.QUICK_IMAGES", 3)
    quick = context(tmp_path, is_quick=True, **SHORT_WARMUP, data=shapes(tmp_path / "set"))
    assert "not looked at" in look(quick).reason
    assert quick.data is not None
    assert data_check_cache.recall_findings(data_check_cache.name_of(quick.data, quick.settings), with_images=True) is None
    assert "not looked at" not in look(context(tmp_path, **SHORT_WARMUP, data=quick.settings.data)).reason


def test_a_warm_up_as_long_as_the_run_warns(tmp_path: Path) -> None:
    found = look(context(tmp_path, data=shapes(tmp_path / "set"), epochs=2, warmup_steps=500))
    assert (
        isinstance(found, CheckWarning)
        and "4 updates in all, and a warm-up of 500" in found.reason
        and "--warmup-steps" in found.fix
    )


def test_data_to_score_on_that_has_other_classes_or_none_at_all_is_refused_before_the_start(tmp_path: Path) -> None:
    data, other = shapes(tmp_path / "set"), Path(shapes(tmp_path / "other"))
    assert isinstance(look(context(tmp_path, **SHORT_WARMUP, data=data, val_data=str(other))), CheckOk)
    file = other / "annotations" / "instances.json"
    text = json.loads(file.read_text())
    renamed = [{**each, "name": f"another {each['id']}"} for each in text["categories"]]
    file.write_text(json.dumps({**text, "categories": renamed}))
    found = look(context(tmp_path, **SHORT_WARMUP, data=data, val_data=str(other)))
    assert (
        isinstance(found, CheckError) and "has no class of those that are learned" in found.reason and "--val-data" in found.fix
    )


def test_data_to_score_on_without_boxes_is_warned_of(tmp_path: Path) -> None:
    data, other = shapes(tmp_path / "set"), Path(shapes(tmp_path / "other"))
    file = other / "annotations" / "instances.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "annotations": []}))
    found = look(context(tmp_path, **SHORT_WARMUP, data=data, val_data=str(other)))
    assert (
        isinstance(found, CheckWarning) and "none of the 24 images" in found.reason and "no epoch could be scored" in found.reason
    )


def test_a_rate_of_nothing_is_warned_of(tmp_path: Path) -> None:
    found = look(context(tmp_path, **SHORT_WARMUP, learning_rate=0.0))
    assert isinstance(found, CheckWarning) and "the rate is 0" in found.reason and "--learning-rate" in found.fix
