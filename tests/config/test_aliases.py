"""Old names of settings load, each with a note that says the new one; old and foreign options are refused with the one to use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.test_cli import call
from unstall import cli
from unstall.base.errors import InvalidInputError
from unstall.config import aliases, settings, toml_file
from unstall.config.aliases import (
    CALLED_ELSEWHERE,
    COMMANDS_ELSEWHERE,
    DEVICES,
    OLD_AUGMENTATIONS,
    OLD_COMMANDS,
    OLD_NAMES,
    OLD_OPTIONS,
    describe_renamed_in_run,
    suggest_option,
    update_names,
)
from unstall.config.command import Command
from unstall.config.detectors import list_family_settings
from unstall.config.options import find_config
from unstall.config.settings import Settings, as_plain, from_stored
from unstall.config.sources import resolve
from unstall.data.augment.names import NAMED

OLD_RUN = Path(__file__).parents[1] / "old_runs" / "trained"
OLD_SETTINGS: dict[str, Any] = json.loads((OLD_RUN / "settings.json").read_text(encoding="utf-8"))
LEAVES = [typed for typed in cli.list_all_commands() if not isinstance(cli.load(typed), click.Group)]
HELP_OPTIONS = ["-h", "--help"]  # as under `unstall`: a command keeps those that it was first called with
OTHERS = {"batch_size": 8, "epochs": 24}  # so that every value of an old setting is one that may be set


def options_of(typed: str) -> set[str]:
    return {name.lstrip("-").replace("-", "_") for each in cli.load(typed).params for name in (*each.opts, *each.secondary_opts)}


# --- no old name is left ---


@pytest.mark.parametrize("old", OLD_NAMES)
def test_no_old_name_is_left_as_a_setting_or_as_one_of_its_options(old: str) -> None:
    assert old not in settings.list_names() and OLD_NAMES[old] in settings.list_names()
    with_settings = [typed for typed in LEAVES if "config" in options_of(typed)]
    assert len(with_settings) >= 6
    assert not [typed for typed in with_settings if old in options_of(typed)]


@pytest.mark.parametrize("old", OLD_OPTIONS)
def test_no_old_option_is_left_where_the_new_one_is(old: str) -> None:
    renamed = [typed for typed in LEAVES if options_of(typed) & set(OLD_OPTIONS[old])]
    assert renamed and not [typed for typed in renamed if old in options_of(typed)]


def test_no_old_augmentation_or_command_is_left() -> None:
    assert not set(OLD_AUGMENTATIONS) & set(NAMED) and set(OLD_AUGMENTATIONS.values()) <= set(NAMED)
    assert not set(OLD_COMMANDS) & set(cli.list_all_commands()) and set(OLD_COMMANDS.values()) <= set(cli.list_all_commands())


def test_every_setting_of_the_old_run_has_its_name_of_today() -> None:
    assert set(OLD_NAMES) < set(OLD_SETTINGS) and set(update_names(OLD_SETTINGS)) == set(settings.list_names())


# --- files ---


def written(folder: Path, **values: Any) -> str:
    path = folder / "run.toml"
    path.write_text("# mine\n" + "".join(f"{name} = {toml_file.as_toml(value)}\n" for name, value in values.items()))
    return str(path)


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_in_a_file_loads_under_the_new_one_with_a_note(
    old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = OLD_NAMES[old]
    value = {"micro_batch": 4, "cache_folder": "kept", "labels": "map.pbtxt", "validation": "held-out"}.get(
        old, OLD_SETTINGS[old]
    )
    path = written(tmp_path, **OTHERS, **{old: value})
    values, places = toml_file.read(path)
    assert values[new] == settings.check_value(new, aliases.update_value(new, value)) and places[new] == f"{path}:4"
    assert find_config(path, no_config=False) == path
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"{path}:4: '{old}' is now '{new}'.")
    assert getattr(resolve({}, path).settings, new) is not None


def test_an_old_augmentation_in_a_file_loads_with_a_note(tmp_path: Path) -> None:
    path = written(tmp_path, augmentations=["mosaic", *OLD_AUGMENTATIONS])
    assert resolve({}, path).settings.augmentations == ("mosaic", *OLD_AUGMENTATIONS.values())
    assert toml_file.list_notes(path) == [f"{path}:2: '{old}' is now '{new}'." for old, new in OLD_AUGMENTATIONS.items()]


def test_a_file_with_names_of_today_has_no_note(tmp_path: Path) -> None:
    plain = {name: value for name, value in as_plain(Settings()).items() if value is not None and name != "detector"}
    assert toml_file.list_notes(written(tmp_path, **plain)) == []


def test_a_setting_under_both_of_its_names_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, learning_rate=0.1, rate=0.2)
    with pytest.raises(InvalidInputError, match=r"run.toml:3: 'rate' and .*run.toml:2 set the same: 'learning_rate'. Keep one"):
        toml_file.read(path)


def test_what_is_wrong_with_the_value_of_an_old_name_is_said_with_the_new_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"run.toml:2: learning_rate: expected a number"):
        toml_file.read(written(tmp_path, rate="fast"))


@pytest.mark.parametrize(
    ("text", "line", "meant"),
    [
        ("lr0 = 0.01", 1, "learning_rate"),
        ("epochs = 3\nbatch = 8", 2, "batch_size"),
        ("max_epochs = 3", 1, "epochs"),
        ("num_steps = 3000", 1, "epochs"),
        ("fine_tune_checkpoint = 'x'", 1, "weights"),
        ("imgsz = 640", 1, "detector.image_size"),
        ("conf = 0.3", 1, "detector.score_threshold"),
        ("iou = 0.5", 1, "detector.nms_iou_threshold"),
        ("SOLVER.BASE_LR = 0.01", 1, "learning_rate"),
        ("IMS_PER_BATCH = 16", 1, "batch_size"),
        ("[SOLVER]\nIMS_PER_BATCH = 16", 1, "batch_size"),
        ("[MODEL.ROI_HEADS]\nSCORE_THRESH_TEST = 0.3", 1, "detector.score_threshold"),
        ("image_size = 640", 1, "detector.image_size"),
        ("close_mosaic = 10", 1, "augmentations"),
    ],
)
def test_the_words_of_other_trainers_in_a_file_are_told_by_ours(text: str, line: int, meant: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text + "\n")
    with pytest.raises(InvalidInputError, match=rf"run.toml:{line}: There is no setting '[\w.]+'\. Use '{meant}'[. ]"):
        toml_file.read(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("warmup_epochs = 3", "Use 'warmup_steps' (the warm-up is counted in steps)."),
        ("project = 'runs'", "It is an option of the command: --out."),
        ("resume = true", "It is an option of the command: --resume."),
        ("device = 0", "The backend takes the first device that it sees."),
        ("nc = 80", "The classes are those of the data."),
        ("[MODEL.ROI_HEADS]\nNUM_CLASSES = 80", "The classes are those of the data."),
        ("pipeline_config_path = 'x'", "`unstall import tfod pipeline.config OUT` makes settings of it."),
    ],
)
def test_what_no_setting_stands_for_is_answered_with_what_to_do(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text + "\n")
    with pytest.raises(InvalidInputError) as caught:
        toml_file.read(path)
    assert said in str(caught.value) and "Settings:" not in str(caught.value)


def test_a_name_of_which_nobody_can_tell_is_refused_with_all_settings(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"There is no setting 'sideways'\. Settings: data, format"):
        toml_file.read(written(tmp_path, sideways=1))


# --- run folders ---


def test_the_settings_of_an_old_run_load() -> None:
    found = from_stored(OLD_SETTINGS)
    assert (found.learning_rate, found.warmup_steps, found.synthetic_images) == (0.003, 100, 24)
    assert (found.num_workers, found.num_input_workers, found.augmentations) == (1, 0, ("horizontal_flip",))
    for old, new in OLD_NAMES.items():
        value = aliases.update_value(new, OLD_SETTINGS[old])
        assert as_plain(found)[new] == value
    assert as_plain(from_stored(as_plain(found))) == as_plain(found)


def test_one_note_says_all_new_names_of_an_old_run() -> None:
    note = describe_renamed_in_run(OLD_SETTINGS, "runs/a/settings.json")
    assert note.startswith("runs/a/settings.json: settings have new names: ") and "\n" not in note
    assert all(f"'{old}' is now '{new}'" in note for old, new in OLD_NAMES.items())
    assert describe_renamed_in_run(as_plain(Settings()), "runs/a/settings.json") == ""


def test_a_run_that_was_begun_when_workers_were_threads_has_them_as_input_workers() -> None:
    assert update_names({"workers": 3, "rate": 0.1}) == {"num_input_workers": 3, "learning_rate": 0.1}
    assert update_names({"workers": 3, "input_threads": 2}) == {"num_workers": 3, "num_input_workers": 2}


# --- options ---


def refused(typed: str, *arguments: str) -> str:
    with pytest.raises(click.UsageError) as caught:
        cli.load(typed).main(list(arguments), f"unstall {typed}", standalone_mode=False, help_option_names=HELP_OPTIONS)
    return caught.value.format_message()


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_option_says_which_to_use(old: str) -> None:
    typed, use = (f"--{name.replace('_', '-')}" for name in (old, OLD_NAMES[old]))
    for command in ("train", "preflight", "plan", "lr-find", "cloud plan", "cloud submit"):
        said = refused(command, typed, "1")
        assert said.startswith(f"No such option '{typed}': use {use}") and said.endswith(".")


@pytest.mark.parametrize(
    ("command", "old", "use"),
    [
        ("train", "--go-on", "use --resume (--resume alone continues the run in --out, or starts it)"),
        ("train", "--models", "use --list-models"),
        ("plan", "--devices", "use --list-devices"),
        ("plan", "--cards", "use --device-table"),
        ("plan", "--classes", "use --num-classes"),
        ("cloud submit", "--cards", "use --num-accelerators"),
        ("cloud submit", "--hours", "use --max-hours"),
        ("lr-find", "--least", "use --min-lr"),
        ("lr-find", "--most", "use --max-lr"),
        ("lr-find", "--steps", "use --num-steps"),
        ("predict", "--least-score", "use --score-threshold"),
        ("predict", "--batch", "use --batch-size"),
        ("evaluate", "--batch", "use --batch-size"),
        ("evaluate", "--labels", "use --label-map"),
        ("export", "--batch", "use --batch-size"),
        ("weights import", "--names", "use --class-names"),
        ("data shapes", "--most", "use --max-shapes"),
        ("data shapes", "--images", "use --num-images"),
        ("data show", "--side", "use --tile-size"),
        ("data convert", "--labels", "use --label-map"),
        ("init", "--labels", "use --label-map"),
        ("import tfod", "--validation", "use --val-data"),
        # other trainers
        ("train", "--lr0", "use --learning-rate"),
        ("train", "--lrf", "use --lr-schedule ('cosine' ends at 0)"),
        ("train", "--batch", "use --batch-size"),
        ("train", "--imgsz", "use --image-size"),
        ("train", "--conf", "use --detector score_threshold=…"),
        ("train", "--iou", "use --detector nms_iou_threshold=…"),
        ("train", "--max-epochs", "use --epochs"),
        ("train", "--max_epochs", "use --epochs"),
        ("train", "--num_train_steps", "use --epochs (a run is counted in epochs)"),
        ("train", "--trainer.max_epochs", "use --epochs"),
        ("train", "--pipeline-config-path", ""),
        ("train", "--output-dir", "use --out"),
        ("preflight", "--SOLVER.BASE_LR", "use --learning-rate"),
        ("plan", "--imgsz", "use --image-size"),
        ("predict", "--conf", "use --score-threshold"),
        ("evaluate", "--label-map-path", "use --label-map"),
        ("export", "--format", "use --to"),
        ("train", "--learning_rate", "use --learning-rate"),
        ("train", "--close_mosaic", "use --augmentations"),
        ("train", "--val_check_interval", "use --eval-interval"),
        ("train", "--score_threshold", "use --detector score_threshold=…"),
        ("train", "--eval-only", "`unstall evaluate --weights FILE --data PATH` does so"),
        ("predict", "--MODEL.ROI_HEADS.SCORE_THRESH_TEST", "use --score-threshold"),
        ("predict", "--model", "use --weights"),
        ("lr-find", "--num_training", "use --num-steps"),
        ("lr-find", "--min_lr", "use --min-lr"),
        # settings of a training, where there are none
        ("predict", "--half", "it is a setting of `unstall train`: --precision"),
        ("evaluate", "--workers", "it is a setting of `unstall train`: --num-workers"),
        ("export", "--SOLVER.BASE_LR", "it is a setting of `unstall train`: --learning-rate"),
        ("data check", "--imgsz", "it is a setting of `unstall train`: --image-size"),
    ],
)
def test_an_option_that_is_not_there_says_which_to_use(command: str, old: str, use: str) -> None:
    said = refused(command, old, "1")
    assert said == f"No such option '{old}': {use}." if use else "use --" not in said


@pytest.mark.parametrize("word", DEVICES)
def test_whoever_looks_for_the_device_is_told_how_it_is_chosen(word: str) -> None:
    for command in ("train", "predict", "evaluate", "export"):
        assert "CUDA_VISIBLE_DEVICES" in refused(command, f"--{word}", "0")
    assert "device" in options_of("plan"), "there the device is one of a table"


def test_workers_are_told_apart_from_threads() -> None:
    assert "num_input_workers counts the threads" in refused("train", "--workers", "8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lr0=0.01",), "No such argument 'lr0=0.01': use --learning-rate."),
        (("epochs=3", "imgsz=640"), "No such argument 'epochs=3': use --epochs."),
        (("SOLVER.BASE_LR", "0.01"), "No such argument 'SOLVER.BASE_LR': use --learning-rate."),
        (("--epochs", "3", "MODEL.WEIGHTS", "x.pth"), "No such argument 'MODEL.WEIGHTS': use --weights."),
    ],
)
def test_arguments_without_dashes_are_told_by_our_options(arguments: tuple[str, ...], said: str) -> None:
    assert refused("train", *arguments) == f"{said} Options begin with two dashes."


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("predict", ("conf=0.3",), "No such argument 'conf=0.3': use --score-threshold."),
        ("predict", ("--weights", "w.safetensors", "conf=0.3"), "No such argument 'conf=0.3': use --score-threshold."),
        ("export", ("format=onnx",), "No such argument 'format=onnx': use --to."),
        ("evaluate", ("batch=4",), "No such argument 'batch=4': use --batch-size."),
    ],
)
def test_arguments_without_dashes_are_explained_in_commands_that_need_others(
    command: str, arguments: tuple[str, ...], message: str
) -> None:
    assert refused(command, *arguments) == f"{message} Options begin with two dashes."


def test_a_value_of_an_option_and_a_file_are_no_argument_of_another_trainer(tmp_path: Path) -> None:
    image = tmp_path / "conf=0.3"
    image.touch()
    parsed = cli.load("predict").make_context("predict", ["--weights", "w.safetensors", str(image)])
    assert parsed.params["images"] == (str(image),)
    assert cli.load("train").make_context("train", ["--detector", "image_size=64"]).params["detector"]


@pytest.mark.parametrize(
    ("command", "option", "message"),
    [
        ("predict", "--source", "write `unstall predict IMAGE...`"),
        ("data check", "--data", "write `unstall data check PATH`"),
        ("data convert", "--output", "write `unstall data convert DST`"),
        ("predict", "--imgsz", "the weights file holds it, as the detector was trained"),
        ("predict", "--img", "the weights file holds it, as the detector was trained"),
        ("evaluate", "--conf", "the weights file holds it, as the detector was trained"),
        ("export", "--pipeline_config_path", "the weights file holds it, as the detector was trained"),
        ("export", "--output_directory", "write `unstall export OUT`"),
        ("train", "--pipeline_config_path", "`unstall import tfod pipeline.config OUT` makes settings of it"),
    ],
)
def test_an_option_that_is_none_here_says_what_to_do_instead(command: str, option: str, message: str) -> None:
    assert refused(*command.split(), option, "x") == f"No such option '{option}': {message}."


@pytest.mark.parametrize("theirs", COMMANDS_ELSEWHERE)
def test_a_command_of_another_trainer_says_which_to_use(theirs: str) -> None:
    assert COMMANDS_ELSEWHERE[theirs] in cli.list_all_commands() and theirs not in cli.list_all_commands()


def test_other_words_are_refused_as_click_does() -> None:
    assert refused("train", "photographs") == "Got unexpected extra argument (photographs)"
    assert "Did you mean" in refused("train", "--epoch", "3") or "Possible" in refused("train", "--epoch", "3")


def test_an_old_augmentation_as_an_option_says_which_to_use() -> None:
    with pytest.raises(InvalidInputError, match=r"augmentations: there is no 'flip'\. Use 'horizontal_flip'\."):
        resolve({"augmentations": ("flip",)})


def test_an_old_command_says_which_to_use() -> None:
    for typed, ours in (("sweep", "lr-find"), ("val", "evaluate")):
        done = call(typed, "--data", "x")
        assert done.returncode == 2 and f"There is no command '{typed}'. Use '{ours}'." in done.stderr


# --- the tables ---


def test_every_command_knows_other_names_of_its_options() -> None:
    plain = [typed for typed in LEAVES if not isinstance(cli.load(typed), Command)]
    assert plain == ["run"], "its options end where the program's begin"


def test_every_name_that_is_pointed_to_is_there() -> None:
    families = [{each.name for each in list_family_settings(family)} for family in ("ssd", "retinanet", "faster_rcnn")]
    known = set(settings.list_names()).union(*(options_of(typed) for typed in LEAVES))
    for name in (*CALLED_ELSEWHERE, *OLD_NAMES.values(), *(each for names in OLD_OPTIONS.values() for each in names)):
        table, _, inner = name.partition(".")
        assert table in known and (not inner or all(inner in each for each in families)), name


def test_no_name_of_another_trainer_is_a_setting_of_ours() -> None:
    theirs = {word for names in CALLED_ELSEWHERE.values() for word in names}
    assert theirs & set(settings.list_names()) == {"format"}, "which `unstall export` calls --to"
    assert all(word == word.lower() for word in theirs)


def test_a_word_of_which_nobody_can_tell_has_no_hint() -> None:
    assert suggest_option("--sideways", ["config", "epochs"]) == "" == suggest_option("--lr0", ["epochs"])
