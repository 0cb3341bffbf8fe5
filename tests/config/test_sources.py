"""Defaults < the recipe of the model < the file < options; and what of a run that goes on may be other."""

from __future__ import annotations

from pathlib import Path

import pytest

from unstall.base.errors import InvalidInputError
from unstall.config import detectors, toml_file
from unstall.config.settings import Settings
from unstall.config.sources import CHANGEABLE, get_recipe, resolve, resolve_resumed
from unstall.data.augment.names import NAMED


def test_later_sources_win_and_each_value_says_where_it_came_from(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('model = "ssd_tiny"\nepochs = 3\nseed = 5\n[detector]\nimage_size = [64, 64]\n')
    found = resolve({"epochs": 4, "detector": {"stem_channels": 16}}, str(file))
    assert (found.settings.epochs, found.settings.seed) == (4, 5)
    assert found.settings.detector == {"image_size": [64, 64], "stem_channels": 16}
    assert found.settings.optimizer == get_recipe("ssd_tiny")["optimizer"] != Settings.optimizer
    sources = found.as_plain()["sources"]
    assert (sources["epochs"], sources["seed"], sources["momentum"]) == ("--epochs", f"{file}:3", "default")
    assert sources["optimizer"] == "recipe of ssd_tiny"


@pytest.mark.parametrize("model", detectors.list_variants())
def test_every_recipe_becomes_settings_of_its_model(model: str) -> None:
    found = resolve({"model": model})
    assert (found.settings.model, found.settings.learning_rate) == (model, detectors.get_recipe(model).learning_rate)
    assert found.sources["epochs"] == f"recipe of {model}"


def test_what_suits_the_embedded_shapes_is_not_put_upon_data_of_ones_own(tmp_path: Path) -> None:
    assert resolve({}).settings.max_boxes_per_image == 10
    assert resolve({"data": str(tmp_path)}).settings.max_boxes_per_image == Settings.max_boxes_per_image


def test_drops_of_a_recipe_are_epochs_of_the_settings() -> None:
    found = resolve({"model": "retinanet_resnet50_fpn"}).settings
    assert (found.lr_schedule, found.lr_milestones, found.epochs) == ("step", (16, 22), 26)


def test_with_fewer_epochs_the_rate_drops_earlier_unless_it_is_said_when() -> None:
    short = {"model": "retinanet_resnet50_fpn", "epochs": 13}
    assert resolve(short).settings.lr_milestones == (8, 11)
    assert resolve({**short, "lr_milestones": [5]}).settings.lr_milestones == (5,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "ssd_tniy"}, "no detector 'ssd_tniy'. Did you mean 'ssd_tiny'?"),
        ({"detector": {"image_pix": 3}}, "ssd_tiny has no setting 'image_pix'. Did you mean 'image_size'?"),
        ({"detector": {"score_threshold": 5}}, "detector: score_threshold: expected a share, 0 to 1. Received: 5"),
        ({"detector": {"score_threshold": "low"}}, "detector: score_threshold: expected a number. Received: 'low'"),
        ({"detector": {"aspect_ratios": 1}}, "detector: aspect_ratios: expected a list, as in [1.0, 2.0]. Received: 1"),
        (
            {"detector": {"trainable_backbone_layers": 1.5}},
            "detector: trainable_backbone_layers: expected a whole number. Received: 1.5",
        ),
        ({"detector": {"freeze_batch_norm": 1}}, "detector: freeze_batch_norm: expected true or false. Received: 1"),
        ({"detector": {"score_thresh": 0.5}}, "ssd_tiny has no setting 'score_thresh'. Use 'score_threshold'."),
        ({"detector": {"image_size": [8, 8]}}, "image_size: expected height and width in whole pixels, 32 to 8192"),
        ({"detector": {"num_classes": 3}}, "'num_classes' is counted in the data"),
        ({"detector": {"remat": True}}, "Write: --remat"),
        ({"augmentations": ["mosaik"]}, "augmentations: there is no 'mosaik'. Did you mean 'mosaic'?"),
        ({"format": "cocoa"}, "format: expected one of coco, tfrecord, voc, yolo. Received: 'cocoa'"),
        ({"batch_size": 8, "micro_batch_size": 3}, "micro_batch_size: expected a divisor of batch_size (8)"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_loaded(options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        resolve(options)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('model = "ssd_tiny"\n[detector]\nimage_size = 7\n', 3, "detector: image_size: expected height and width"),
        ("[detector]\nstem_chanels = 7\n", 2, "detector: ssd_tiny has no setting 'stem_chanels'. Did you mean 'stem_channels'?"),
        ('epochs = 1\naugmentations = ["mosaik"]\n', 2, "augmentations: there is no 'mosaik'"),
        ('epochs = 1\nformat = "cocoa"\n', 2, "format: expected one of coco"),
    ],
)
def test_what_is_wrong_in_a_file_is_refused_with_its_line(text: str, line: int, words: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(InvalidInputError) as refused:
        resolve({}, str(path))
    assert str(refused.value).startswith(f"{path}:{line}: {words}")


def test_a_path_over_the_folder_above_is_told_without_the_way_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    assert resolve({"data": "../set"}).settings.data == str(tmp_path / "set")
    assert resolve({"data": str(tmp_path / "link")}).settings.data == str(tmp_path / "link")  # its own name


def test_a_path_is_meant_from_where_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("LAKE", "/lake")
    monkeypatch.delenv("SEA", raising=False)
    (tmp_path / "run.toml").write_text('data = "set"\nweights = "$LAKE/w.safetensors"\nlabels = "${SEA}/names.txt"\n')
    found = resolve({"val_data": "held-out", "cache_dir": "gs://bucket/x"}, str(tmp_path / "run.toml")).settings
    assert found.data == str(tmp_path / "set")
    assert found.val_data == str(tmp_path / "here" / "held-out")
    assert found.weights == "/lake/w.safetensors"
    assert found.label_map == "${SEA}/names.txt"
    assert found.cache_dir == "gs://bucket/x"


def test_a_run_that_goes_on_may_be_extended_but_not_become_another() -> None:
    before = Settings(model="retinanet_tiny", epochs=3)
    assert resolve_resumed(before, {"epochs": 9, "model": "retinanet_tiny"}) == Settings(model="retinanet_tiny", epochs=9)
    for other in ({"model": "ssd_tiny"}, {"seed": 4}, {"batch_size": 8}, {"optimizer": "adamw"}, {"data": "/elsewhere"}):
        with pytest.raises(InvalidInputError, match="a run that goes on keeps its"):
            resolve_resumed(before, other)


def test_what_may_be_changed_are_settings() -> None:
    assert set(CHANGEABLE) <= set(vars(Settings()))


def test_the_help_of_augment_names_every_one_there_is() -> None:
    assert f": {', '.join(NAMED)}." in toml_file.get_meaning("augmentations")


@pytest.mark.parametrize(("place", "named"), [("gs://$NOT_SET_HERE/set", "NOT_SET_HERE"), ("gs:///set", "names no bucket")])
def test_a_bucket_that_cannot_be_one_is_refused_at_once(place: str, named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        resolve({"data": place})


def test_a_place_in_a_bucket_stays_as_it_is_written() -> None:
    assert resolve({"data": "s3://photos/coco"}).settings.data == "s3://photos/coco"


def test_several_workers_run_on_jax_where_nobody_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    assert resolve({"num_workers": 2}).settings.backend == "jax" and resolve({}).settings.backend == "auto"
    assert resolve_resumed(Settings(), {"num_workers": 2}).backend == "jax"
    with pytest.raises(InvalidInputError, match="backend: expected jax for 2 workers"):
        resolve({"num_workers": 2, "backend": "torch"})
