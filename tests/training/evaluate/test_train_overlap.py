"""Which images an evaluation scores, by what the weights say of their training."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.tiny import tiny_weights
from unstall.config.settings import Settings
from unstall.data import formats
from unstall.data.example import DataSet
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.detectors.weights.description import Description, read_description
from unstall.detectors.weights.formats import safetensors_files
from unstall.journal.run_folder import RunFolder
from unstall.training.evaluate import train_overlap
from unstall.training.evaluate.train_overlap import choose_images
from unstall.training.loop.datasets import TrainValData, load_datasets


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("data") / "set"
    write_shapes(made, Shapes(20, 64, 48), "coco", {}, [], None)
    return made


@pytest.fixture(scope="module")
def learned(folder: Path) -> TrainValData:
    return load_datasets(Settings(data=str(folder), val_split=0.25), (64, 64), folder)


def stored(learned: TrainValData, **settings: object) -> dict[str, object]:
    """As a weights file has it: through JSON."""
    plain: dict[str, object] = json.loads(
        json.dumps(train_overlap.describe_training_images(Settings(**settings), learned).as_plain())
    )  # type: ignore[arg-type]
    return plain


def names(data: DataSet | None) -> set[str]:
    assert data is not None
    return {example.name for example in data.examples}


def test_of_the_data_that_was_trained_on_the_held_out_images_are_scored(folder: Path, learned: TrainValData) -> None:
    data, scored = choose_images(formats.read(folder), stored(learned), is_all=False)
    assert names(data) == names(learned.validation) and len(data.examples) == scored.count == 6
    assert scored.note == "Scoring 6 held-out images of 20; 14 were trained on. --all-images scores all of them."
    assert scored.as_plain() == {"images": "held_out", "count": 6, "total": 20, "trained_on": 14, "note": scored.note}


def test_all_of_them_are_scored_with_a_warning_where_that_was_asked(folder: Path, learned: TrainValData) -> None:
    data, scored = choose_images(formats.read(folder), stored(learned), is_all=True)
    assert len(data.examples) == 20 and (scored.images, scored.trained_on) == ("all", 14)
    assert scored.note.startswith("Warning: the weights were trained on 14 of the 20 images that are scored.")


def test_copies_under_other_names_and_in_another_format_are_recognised(learned: TrainValData, tmp_path: Path) -> None:
    for number, example in enumerate([*learned.train.examples[:3], *learned.validation.examples[:1]]):  # type: ignore[union-attr]
        assert example.image is not None
        (tmp_path / f"other{number}.txt").write_text("0 0.5 0.5 0.2 0.2\n")
        shutil.copy(example.image.path, tmp_path / f"other{number}.jpg")
    (tmp_path / "classes.txt").write_text("thing\n")
    data, scored = choose_images(formats.read(tmp_path, "yolo"), stored(learned), is_all=False)
    assert (len(data.examples), scored.total, scored.trained_on) == (1, 4, 3)


def test_where_all_were_trained_on_they_are_scored_with_a_warning(learned: TrainValData) -> None:
    data, scored = choose_images(learned.train, stored(learned), is_all=False)
    assert len(data.examples) == 14 and scored.note.startswith("Warning: the weights were trained on 14 of the 14 images")


def test_other_images_of_the_same_names_are_no_overlap(learned: TrainValData, tmp_path: Path) -> None:
    """Two data sets may both number their images from 1."""
    write_shapes(tmp_path / "set", Shapes(20, 64, 48, seed=7), "coco", {}, [], None)
    other = formats.read(tmp_path / "set")
    assert names(other) >= names(learned.train)
    data, scored = choose_images(other, stored(learned), is_all=False)
    assert len(data.examples) == 20 and (scored.trained_on, scored.note) == (0, "")


def test_images_whose_content_is_not_known_go_by_their_names(learned: TrainValData) -> None:
    unseen = replace(learned.train, examples=[replace(example, image=None) for example in learned.train.examples])
    assert choose_images(unseen, stored(learned), is_all=False)[1].trained_on == 14


@pytest.mark.parametrize("said", [{}, {"train": "no base64!", "held_out": ""}, {"train": 3}])
def test_of_weights_that_do_not_say_it_is_not_known(said: dict[str, object], learned: TrainValData) -> None:
    data, scored = choose_images(learned.train, said, is_all=False)
    assert len(data.examples) == 14 and scored.trained_on is None and "is not known" in scored.note


def test_weights_that_a_run_began_with_count_too(learned: TrainValData, tmp_path: Path) -> None:
    """A detector that is trained further on other images has learned from those before, too."""
    first, path = stored(learned), tmp_path / "first.safetensors"
    tensors = {name: tensor.read() for name, tensor in read_description(tiny_weights(path))[0].tensors.items()}
    safetensors_files.write(path, tensors, Description("retinanet_tiny", trained_on=first).as_metadata())
    write_shapes(tmp_path / "set", Shapes(8, 64, 48, seed=7), "coco", {}, [], None)
    other = formats.read(tmp_path / "set")
    second = stored(TrainValData(other, None, ""), weights=str(path))
    assert choose_images(learned.train, second, is_all=False)[1].trained_on == 14
    assert choose_images(other, second, is_all=False)[1].trained_on == 8


def test_the_run_says_it_by_names(learned: TrainValData, tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    train_overlap.keep(run, train_overlap.describe_training_images(Settings(), learned), learned)
    plain = json.loads(run.split_path.read_text())
    assert set(plain["train"]) == names(learned.train) and set(plain["held_out"]) == names(learned.validation)
    assert (plain["train_images"], plain["held_out_images"]) == (14, 6)
