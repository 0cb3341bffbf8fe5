"""What is learned from and what it is scored on. No framework is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstall.base.errors import InvalidInputError
from unstall.config.settings import Settings
from unstall.data import formats
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.training.loop.datasets import TrainValData, load_datasets, select_training_images

PX = (48, 64)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "unstall"


def written(folder: Path, count: int = 20, **splits: float) -> str:
    write_shapes(folder, Shapes(count, 64, 48), "coco", splits)
    return str(folder)


def learned(tmp_path: Path, **settings: object) -> TrainValData:
    return load_datasets(Settings(**settings), PX, tmp_path)  # type: ignore[arg-type]


def names(datasets: TrainValData) -> tuple[set[str], set[str]]:
    assert datasets.validation is not None
    return {each.name for each in datasets.train.examples}, {each.name for each in datasets.validation.examples}


# --- the embedded shapes ---


def test_shapes_are_drawn_once_in_the_size_of_the_detector(tmp_path: Path, own_cache: Path) -> None:
    first = learned(tmp_path, synthetic_images=20)
    (folder,) = own_cache.iterdir()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.jpg")}
    second = learned(tmp_path, synthetic_images=20)
    assert len(before) == 20 and before == {path: path.stat().st_mtime_ns for path in folder.rglob("*.jpg")}
    assert names(first) == names(second)
    assert {(each.height, each.width) for each in first.train.examples} == {PX}
    assert len(first.classes) == 6


def test_where_the_cache_cannot_be_written_they_are_drawn_beside_the_run(tmp_path: Path, own_cache: Path) -> None:
    own_cache.parent.mkdir(parents=True)
    own_cache.write_text("in the way")
    run = tmp_path / "run"
    run.mkdir()
    found = load_datasets(Settings(synthetic_images=16), PX, run)
    assert len(found.train.examples) + len(found.validation.examples) == 16  # type: ignore[union-attr]
    assert [path.name for path in run.iterdir()] == ["shapes-1-16-64x48"]


def test_the_seed_of_the_run_changes_the_division_and_not_the_pictures(tmp_path: Path, own_cache: Path) -> None:
    first, second = (learned(tmp_path, synthetic_images=60, seed=seed) for seed in (1, 2))
    assert len(list(own_cache.iterdir())) == 1
    assert names(first) != names(second)


# --- one's own data ---


def test_a_share_is_kept_apart_where_there_is_no_split(tmp_path: Path) -> None:
    data = written(tmp_path / "data")
    found = learned(tmp_path, data=data, val_split=0.2)
    train, validation = names(found)
    assert not train & validation and len(train) == 16 and len(validation) == 4
    assert names(learned(tmp_path, data=data, val_split=0.2)) == (train, validation)


def test_the_split_for_it_is_used_where_there_is_one(tmp_path: Path) -> None:
    found = learned(tmp_path, data=written(tmp_path / "data", train=0.5, val=0.3, test=0.2))
    train, validation = names(found)
    assert len(train) == 10 and len(validation) == 6 and not train & validation


def test_what_is_kept_for_the_test_is_never_learned(tmp_path: Path) -> None:
    found = learned(tmp_path, data=written(tmp_path / "data", train=0.5, test=0.5), val_split=0.2)
    train, validation = names(found)
    assert len(train | validation) == 10


def test_another_data_set_is_scored_on_where_one_is_named(tmp_path: Path) -> None:
    found = learned(tmp_path, data=written(tmp_path / "data"), val_data=written(tmp_path / "other", 7))
    assert len(found.train.examples) == 20 and len(found.validation.examples) == 7  # type: ignore[union-attr]


def test_without_a_share_nothing_is_scored(tmp_path: Path) -> None:
    found = learned(tmp_path, data=written(tmp_path / "data"), val_split=0.0)
    assert found.validation is None and len(found.train.examples) == 20


def test_data_that_is_not_there_is_refused_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="nowhere"):
        learned(tmp_path, data=str(tmp_path / "nowhere"))


def test_data_to_score_on_that_has_none_of_the_classes_is_refused_before_anything_is_learned(tmp_path: Path) -> None:
    data, other = written(tmp_path / "data"), Path(written(tmp_path / "other"))
    file = other / "annotations" / "instances.json"
    text = json.loads(file.read_text())
    for category in text["categories"]:
        category["name"] += "s"
    file.write_text(json.dumps(text))
    with pytest.raises(InvalidInputError, match="has no class of those that are learned"):
        learned(tmp_path, data=data, val_data=str(other))


# --- counted before anything is divided ---


def test_as_many_are_counted_as_are_learned_from(tmp_path: Path) -> None:
    split = written(tmp_path / "split", 40, train=0.5, val=0.25, test=0.25)
    tested = written(tmp_path / "tested", 40, train=0.7, test=0.3)
    for settings in (
        Settings(data=split),
        Settings(data=split, val_data=tested),
        Settings(data=tested, val_split=0.25),
        Settings(data=tested, val_split=0.0),
    ):
        found = load_datasets(settings, PX, tmp_path)
        assert settings.data is not None
        counted = select_training_images(formats.read(Path(settings.data)), settings)
        assert counted == len(found.train.examples)


def test_a_single_image_is_learned_from_and_not_scored(tmp_path: Path) -> None:
    data = written(tmp_path / "one", 1)
    found = learned(tmp_path, data=data)
    assert (len(found.train.examples), found.validation) == (1, None)
    assert found.remark == "not scored: there is one image, which is learned from"
    assert select_training_images(formats.read(Path(data)), Settings(data=data)) == 1
