"""`unstall train`, `preflight`, `init` and `lr-find` as a person meets them: what is printed, what is refused, in real processes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.test_cli import as_json, call
from unstall.config import settings
from unstall.config.detectors import list_variants
from unstall.config.settings import Settings, as_plain
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.journal.run_folder import RunFolder


@pytest.fixture
def photographs(tmp_path: Path) -> str:
    write_shapes(tmp_path / "photographs", Shapes(40, 160, 120), "coco", {}, [], None)
    return str(tmp_path / "photographs")


# --- what can be trained, and by which settings ---


def test_the_models_are_listed_with_their_recipes() -> None:
    result = as_json("train", "--list-models")
    assert [row["model"] for row in result["models"]] == list(list_variants())
    assert all(row["parameters"] > 100_000 and row["epochs"] > 0 for row in result["models"])
    printed = call("train", "--list-models", COLUMNS="80").stdout
    assert "retinanet_resnet50_fpn_v2" in printed and "…" not in printed, "nothing is cut off on a narrow terminal"


def test_settings_are_shown_with_where_each_came_from(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("epochs = 7\n")
    result = as_json("train", "--show-settings", "--config", str(tmp_path / "run.toml"), "--seed", "3")
    assert (result["settings"]["epochs"], result["sources"]["epochs"]) == (7, f"{tmp_path}/run.toml:1")
    assert (result["settings"]["seed"], result["sources"]["seed"]) == (3, "--seed")
    assert set(result["settings"]) == set(settings.list_names()) == set(result["sources"])
    shown = call("train", "--show-settings", "--seed", "3", COLUMNS="160").stdout
    assert "--seed" in shown and "recipe of ssd_tiny" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "ssd_tinny"), "Did you mean 'ssd_tiny'?"),
        (("--epochs", "0"), "--epochs: expected a whole number from 1 to 1,000,000. Received: 0"),
        (("--detector", "image_pix=64,64"), "Did you mean 'image_size'?"),
        (("--augmentations", "horizontal_flop"), "augmentations: there is no 'horizontal_flop'. Did you mean 'horizontal_flip'?"),
        (("--config", "not-there.toml"), "Cannot read the settings file 'not-there.toml': No such file"),
        (("--resume", "no-such-run"), "no run 'no-such-run'"),
        (("--resume", "last", "--out", "x"), "--out: a run that goes on has its folder"),
        (("--out", "/proc"), "--out: expected a folder that is empty"),
    ],
)
@pytest.mark.parametrize("command", ["train"])
def test_what_is_wrong_is_refused_at_once(command: str, arguments: tuple[str, ...], words: str) -> None:
    done = call(command, *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert words.lower() in done.stderr.lower() and len(done.stderr.splitlines()) == 1


def test_a_run_that_goes_on_shows_its_settings_with_what_is_asked_to_be_other(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.write_settings(as_plain(Settings(epochs=3, seed=9)))
    result = as_json("train", "--resume", str(run.path), "--epochs", "6", "--show-settings")
    assert (result["settings"]["epochs"], result["settings"]["seed"]) == (6, 9)
    refused = call("train", "--resume", str(run.path), "--seed", "1", "--show-settings")
    assert refused.returncode == 2 and "a run that goes on keeps its seed (9)" in refused.stderr


def test_what_the_preflight_refuses_is_not_begun(tmp_path: Path) -> None:
    done = call("train", "--data", str(tmp_path / "absent"), "--out", str(tmp_path / "run"))
    assert done.returncode == 1 and not (tmp_path / "run").exists()
    assert "error    paths" in done.stderr and "it was not begun" in done.stderr


# --- preflight ---


def test_preflight_says_what_refuses_and_what_it_cannot_know(tmp_path: Path) -> None:
    done = call("preflight", "--data", str(tmp_path / "absent"), "--quick", COLUMNS="200")
    assert done.returncode == 1
    assert "is not there" in done.stdout and "fix: correct the path" in done.stdout and "preflight: 1 error" in done.stdout
    plain = json.loads(call("preflight", "--data", str(tmp_path / "absent"), "--quick", "--json", "-").stdout)
    statuses = {check["check"]: check["status"] for check in plain["checks"]}
    assert (plain["status"], statuses["paths"], statuses["data_set"], statuses["weights"]) == (
        "error",
        "error",
        "unknown",
        "unknown",
    )


# --- init ---


def test_init_writes_a_file_that_train_takes(photographs: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    done = call("init", photographs, "--out", str(file))
    assert done.returncode == 0, done.stderr
    assert f"Next: unstall train --config {file}" in done.stdout
    text = file.read_text()
    assert all(name in text for name in settings.list_names())
    result = as_json("train", "--config", str(file), "--show-settings")
    assert result["settings"]["data"] == photographs and result["settings"]["max_boxes_per_image"] == 10
    assert tomllib.loads(text)["model"] == result["settings"]["model"]
    assert f"# learning_rate = {result['settings']['learning_rate']}\n" in text  # the recipe's, which holds


def test_init_overwrites_nothing_and_refuses_what_is_no_data(photographs: str, tmp_path: Path) -> None:
    (tmp_path / "unstall.toml").write_text("mine")
    done = call("init", photographs, "--out", str(tmp_path / "unstall.toml"))
    assert done.returncode == 2 and "not overwritten" in done.stderr and (tmp_path / "unstall.toml").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert call("init", str(tmp_path / "empty"), "--out", str(tmp_path / "x.toml")).returncode == 2
    assert not (tmp_path / "x.toml").exists()


def test_init_as_json_says_why(photographs: str, tmp_path: Path) -> None:
    result = as_json("init", photographs, "--out", str(tmp_path / "a.toml"))
    assert result["images"] == 40 and "updates with" in result["why"]["epochs"] and result["settings"]["epochs"] >= 12


# --- unstall.toml of the current folder ---

HERE = "Using the settings in ./unstall.toml."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where one stands."""
    made = tmp_path / "project"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


def test_what_init_has_written_is_used_and_said_first(photographs: str, folder: Path) -> None:
    assert "Next: unstall train\n" in call("init", photographs).stdout
    assert "Train by them: unstall train\n" in (folder / "unstall.toml").read_text()
    done = call("train", "--show-settings", "--json", "-")
    assert done.stderr.splitlines()[0].startswith(HERE)
    plain = json.loads(done.stdout)
    assert plain["settings"]["data"] == photographs and plain["sources"]["data"].startswith("unstall.toml:")
    looked = call("preflight", "--quick", COLUMNS="200")
    assert looked.stderr.startswith(HERE) and "photographs" in looked.stdout, looked.stdout
    assert "embedded shapes" not in looked.stdout


@pytest.mark.parametrize(
    "command", [("train", "--dry-run"), ("preflight",), ("plan", "--quick"), ("lr-find",), ("cloud", "plan")]
)
def test_every_command_that_takes_settings_names_the_line_that_is_wrong(command: tuple[str, ...], folder: Path) -> None:
    (folder / "unstall.toml").write_text('model = "ssd_tiny"\nepochs = 0\n')
    done = call(*command)
    assert done.returncode == 2 and done.stderr.startswith(HERE)
    assert "unstall.toml:2: epochs: expected a whole number from 1" in done.stderr
    (folder / "unstall.toml").write_text('model = "ssd_tiny"\nepochs 3\n')
    assert "unstall.toml:2: this is not TOML" in call(*command).stderr


def test_options_override_it_and_it_can_be_ignored(folder: Path) -> None:
    (folder / "unstall.toml").write_text("epochs = 7\nseed = 5\n")
    result = as_json("train", "--show-settings", "--seed", "3")
    assert (result["settings"]["epochs"], result["settings"]["seed"], result["sources"]["seed"]) == (7, 3, "--seed")
    ignored = call("train", "--show-settings", "--no-config", "--json", "-")
    assert ignored.stderr == "" and json.loads(ignored.stdout)["settings"]["seed"] == Settings.seed
    (folder / "other.toml").write_text("seed = 9\n")
    other = call("train", "--show-settings", "--config", "other.toml", "--json", "-")
    assert other.stderr == "" and json.loads(other.stdout)["settings"]["seed"] == 9
    both = call("train", "--show-settings", "--config", "other.toml", "--no-config")
    assert both.returncode == 2 and "--no-config: expected without --config" in both.stderr


def test_a_run_that_is_resumed_keeps_its_settings_and_says_so(folder: Path) -> None:
    (folder / "unstall.toml").write_text("seed = 5\n")
    run = RunFolder(folder / "run")
    run.path.mkdir()
    run.write_settings(as_plain(Settings(seed=9)))
    for arguments in (("--resume", "run"), ("--resume", "--out", "run")):
        done = call("train", *arguments, "--show-settings", "--json", "-")
        assert done.stderr == "./unstall.toml is not used: a run that is resumed keeps its own settings.\n"
        assert json.loads(done.stdout)["settings"]["seed"] == 9
    started_run = call("train", "--resume", "--out", "new", "--show-settings", "--json", "-")
    assert started_run.stderr.startswith(HERE) and json.loads(started_run.stdout)["settings"]["seed"] == 5


def test_without_the_file_nothing_is_said(folder: Path) -> None:
    (folder / "unstall.toml").mkdir()  # of that name, and no file
    assert call("train", "--show-settings").stderr == ""


# --- lr-find ---


def test_lr_find_refuses_rates_in_the_wrong_order() -> None:
    done = call("lr-find", "--min-lr", "1", "--max-lr", "0.1")
    assert done.returncode == 2 and "--min-lr: expected less than --max-lr (0.1). Received: 1" in done.stderr
