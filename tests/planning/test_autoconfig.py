"""Settings that suit a data set: each follows from what the data and the machine are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unstall.config.settings import from_plain
from unstall.config.sources import resolve
from unstall.data.example import DataSet
from unstall.data.formats import read
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.planning.autoconfig import suggest
from unstall.training.loop.datasets import load_datasets


@pytest.fixture
def data(tmp_path: Path) -> DataSet:
    write_shapes(tmp_path, Shapes(30, 640, 360), "coco", {}, [], None)
    return read(tmp_path)


def scaled(data: DataSet, share: float) -> DataSet:
    """The same images with boxes of a share of their size."""
    return replace(data, examples=[replace(example, boxes=example.boxes * share) for example in data.examples])


def test_a_card_gets_a_large_model_and_cores_a_small_one(data: DataSet, tmp_path: Path) -> None:
    assert suggest(data, "here", has_card=True).values["model"] == "retinanet_resnet50_fpn_v2"
    assert suggest(data, "here", has_card=False).values["model"] == "ssdlite320_mobilenet_v3_large"
    write_shapes(tmp_path / "small", Shapes(30, 96, 96), "coco", {}, [], None)
    assert suggest(read(tmp_path / "small"), "here", has_card=False).values["model"] == "ssd_tiny"


def test_the_image_size_is_the_data_s_own_in_whole_strides_and_larger_for_small_objects(data: DataSet) -> None:
    height, width = suggest(data, "here", has_card=True).values["detector"]["image_size"]
    assert (height, width) == (352, 640)
    small = suggest(scaled(data, 0.1), "here", has_card=True)
    assert small.values["detector"]["image_size"][1] == 1024
    assert "pixels wide" in small.why["detector"]


def test_few_images_are_seen_more_often(data: DataSet) -> None:
    small = suggest(data, "here", has_card=True).values["epochs"]
    many = suggest(replace(data, examples=data.examples * 1000), "here", has_card=True).values["epochs"]
    assert small == 300 and many == 12


def test_there_is_room_for_the_boxes_of_the_fullest_image(data: DataSet) -> None:
    most = max(example.count for example in data.examples)
    assert most <= suggest(data, "here", has_card=False).values["max_boxes_per_image"] <= 10


@pytest.mark.parametrize("has_card", [True, False])
def test_what_is_suggested_is_right_as_settings(data: DataSet, has_card: bool) -> None:
    values = suggest(data, "here", has_card).values
    assert from_plain(values).batch_size <= len(data.examples)
    assert resolve(values).settings.warmup_steps <= 0.1 * values["epochs"] * 27


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_what_is_suggested_for_few_images_can_be_trained(tmp_path: Path, count: int) -> None:
    """The batch is no larger than what is left to learn from, once something is kept apart to score on."""
    write_shapes(tmp_path, Shapes(count, 96, 96), "coco", {}, [], None)
    data = read(tmp_path)
    values = suggest(data, str(tmp_path), has_card=False).values
    assert values["batch_size"] <= len(load_datasets(from_plain(values), (96, 96), tmp_path).train.examples)
