"""path_missing: the error says which path is not there; what lies nearby is looked at afterwards."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, lib, py, started, steps
from unstall.diagnosis.causes import path_missing
from unstall.diagnosis.errors.error_messages import find_missing_path
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import (
    DataMet,
    ErrorRaised,
    ImageNotRead,
    LoopSeen,
    PathLooked,
    PatternMatchedNothing,
    ProcessEnded,
    ProgramEnded,
)
from unstall.sensors.data_paths import look

CRASHED = ProcessEnded(at=T0 + 10, exit_code=1)
ENDED = ProcessEnded(at=T0 + 10, exit_code=0)


def raised(kind: str, message: str, fatal: bool = True) -> ErrorRaised:
    frames = [lib("numpy/npyio.py", "load", 400), py("loader.py", "read", 12), py("train.py", "<module>", 40)]
    return ErrorRaised(at=T0 + 9, kind=kind, message=message, frames=frames, fatal=fatal)


def test_found_with_the_path_the_line_and_a_name_that_resembles_it() -> None:
    error = raised("FileNotFoundError", "[Errno 2] No such file or directory: '/data/trian.csv'")
    looked = PathLooked(at=T0 + 10, path="/data/trian.csv", exists_up_to="/data", near=["train.csv"])
    verdict = path_missing.examine(journal(started(), error, looked, CRASHED))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "loader.py:12"
    assert verdict.actions[0] == "did you mean train.csv?"


def test_found_with_the_variable_that_is_not_set() -> None:
    error = raised("FileNotFoundError", "[Errno 2] No such file or directory: 'None/train'")
    looked = PathLooked(at=T0 + 10, path="None/train", exists_up_to=FOLDER, unset_variables=["DATA_ROOT"])
    verdict = path_missing.examine(journal(started(), error, looked, CRASHED))
    assert isinstance(verdict, Found)
    assert "DATA_ROOT is not set" in verdict.summary


def test_found_in_a_key_error_out_of_the_environment_itself() -> None:
    frames = [py("/usr/lib/python3.11/os.py", "__getitem__", 680), py("train.py", "<module>", 3)]
    error = ErrorRaised(at=T0 + 9, kind="KeyError", message="'DATA_ROOT'", frames=frames, fatal=True)
    verdict = path_missing.examine(journal(started(), error, CRASHED))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:3"


NO_MATCH = PatternMatchedNothing(at=T0 + 2, pattern="data/imgs/*.jpg", where=f"{FOLDER}/train.py:20")


@pytest.mark.parametrize(
    "message",
    [
        "num_samples should be a positive integer value, but got num_samples=0",
        "The dataset is empty.",
        "need at least one array to concatenate",
        "Found 0 images in the training folder",
        "Unexpected result of `train_function` (Empty Logs): Your dataset is empty",
        "No training images were found.",
    ],
)
def test_found_where_the_error_says_that_there_is_no_data_after_a_pattern_that_matched_nothing(message: str) -> None:
    verdict = path_missing.examine(journal(started(), NO_MATCH, raised("ValueError", message), CRASHED))
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.LIKELY and verdict.where == "train.py:20"
    assert "No file matches data/imgs/*.jpg" in verdict.summary


def test_clear_where_there_is_no_data_for_another_reason() -> None:
    nothing, other = raised("ValueError", "The dataset is empty."), raised("ValueError", "Expected 3 channels, got 4")
    assert isinstance(path_missing.examine(journal(started(), nothing, CRASHED)), Clear)
    assert isinstance(path_missing.examine(journal(started(), NO_MATCH, other, CRASHED)), Clear)
    assert isinstance(path_missing.examine(journal(started(), NO_MATCH, steps(1, 5, at=5), nothing, CRASHED)), Clear)


def test_found_where_an_empty_data_set_raised_an_error_that_does_not_say_so() -> None:
    error, facts = raised("ZeroDivisionError", "division by zero"), {"kind": "empty", "raised": True}
    verdict = path_missing.examine(journal(started(), NO_MATCH, LoopSeen(at=T0 + 4, facts=facts), error, CRASHED))
    assert isinstance(verdict, Found) and verdict.where == "train.py:20"
    assert any("no batch at all" in each.claim for each in verdict.evidence)
    other = LoopSeen(at=T0 + 4, facts={**facts, "raised": False})  # an empty validation set, passed over
    assert isinstance(path_missing.examine(journal(started(), NO_MATCH, other, error, CRASHED)), Clear)
    assert isinstance(path_missing.examine(journal(started(), LoopSeen(at=T0 + 4, facts=facts), error, CRASHED)), Clear)


def _asked(pattern: str, within: str = f"{FOLDER}/train.py:29") -> PatternMatchedNothing:
    return PatternMatchedNothing(at=T0 + 2, pattern=pattern, where=f"{FOLDER}/train.py:20", within=[within])


def test_found_where_a_library_failed_on_nothing_in_the_call_in_which_it_asked_for_the_pattern() -> None:
    frames = [lib("fastai/data/core.py", "setup", 394), py("train.py", "<module>", 29)]
    error = ErrorRaised(
        at=T0 + 8, kind="TypeError", message="'NoneType' object is not iterable", frames=frames, fatal=True
    )  # fmt: skip
    verdict = path_missing.examine(journal(started(), _asked("data/imgs/*.jpg"), error, CRASHED))
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.LIKELY and verdict.where == "train.py:20"
    for other in (
        _asked("runs/*.ckpt"),  # a checkpoint need not be there
        _asked("data/imgs/*.jpg", f"{FOLDER}/train.py:12"),  # another call
    ):
        assert isinstance(path_missing.examine(journal(started(), other, error, CRASHED)), Clear)
    shape = replace(error, kind="ValueError", message="Expected 3 channels, got 4")
    assert isinstance(path_missing.examine(journal(started(), _asked("data/imgs/*.jpg"), shape, CRASHED)), Clear)
    own = replace(error, frames=frames[1:])
    assert isinstance(path_missing.examine(journal(started(), _asked("data/imgs/*.jpg"), own, CRASHED)), Clear)


def test_found_without_an_error_where_an_empty_pattern_ended_in_no_step_at_all() -> None:
    pattern = PatternMatchedNothing(at=T0 + 3, pattern="/data/*.jpg", where=f"{FOLDER}/train.py:20")
    empty = LoopSeen(at=T0 + 4, facts={"kind": "empty"})
    verdict = path_missing.examine(journal(started(), pattern, empty, ProgramEnded(at=T0 + 9), ENDED))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:20"


def test_clear_where_what_matched_nothing_is_no_data() -> None:
    """Checkpoints of a first run, beside a loader that is empty on purpose or at an error of its own."""
    pattern = replace(NO_MATCH, pattern="checkpoints/*.pt")
    empty = LoopSeen(at=T0 + 4, facts={"kind": "empty"})
    assert isinstance(path_missing.examine(journal(started(), pattern, empty, ProgramEnded(at=T0 + 9), ENDED)), Clear)
    fatal = LoopSeen(at=T0 + 8, facts={"kind": "empty", "raised": True})
    error = raised("ZeroDivisionError", "division by zero")
    assert isinstance(path_missing.examine(journal(started(), pattern, fatal, error, CRASHED)), Clear)


def test_clear_where_another_pattern_found_the_files_of_that_folder() -> None:
    asked = replace(_asked("/data/imgs/*.png", f"{FOLDER}/train.py:40"))
    found = DataMet(at=T0 + 2, paths=["/data/imgs/1.jpg"], how="glob")
    error = raised("IndexError", "list index out of range")
    assert isinstance(path_missing.examine(journal(started(), asked, found, error, CRASHED)), Clear)


def test_clear_where_an_empty_pattern_did_not_matter() -> None:
    pattern = PatternMatchedNothing(at=T0 + 3, pattern="/checkpoints/*.keras", where=f"{FOLDER}/train.py:20")
    assert isinstance(path_missing.examine(journal(started(), pattern, steps(0, 9, at=5), ProgramEnded(at=T0 + 9), ENDED)), Clear)


def test_clear_where_the_program_caught_the_error_or_another_one_ended_it() -> None:
    caught = raised("FileNotFoundError", "[Errno 2] No such file or directory: 'settings.toml'", fatal=False)
    assert isinstance(path_missing.examine(journal(started(), caught, ENDED)), Clear)
    other = raised("KeyError", "'label'")
    assert isinstance(path_missing.examine(journal(started(), other, CRASHED)), Clear)


def test_unknown_without_the_probe() -> None:
    assert isinstance(path_missing.examine(journal(started("./train.sh"), CRASHED)), Unknown)


def test_the_texts_of_all_frameworks_are_read() -> None:
    assert find_missing_path("/data/a.tfrecord; No such file or directory\n\t [[{{node IteratorGetNext}}]]") == "/data/a.tfrecord"
    assert find_missing_path("Summarized data: b'No files matched pattern: /data/*.jpg'") == "/data/*.jpg"
    assert (
        find_missing_path("Unable to synchronously open file (unable to open file: name = 'w.h5', errno = 2, error message")
        == "w.h5"
    )
    assert find_missing_path("division by zero") is None
    assert find_missing_path("ValueError: attribute name does not exist") is None
    assert find_missing_path("ValueError: see https://example.org/a for what is missing") is None
    assert find_missing_path("FileNotFoundError: see https://example.org/a for what is missing") is None


@pytest.mark.parametrize(
    "said",
    [
        "FileNotFoundError: \x1b[34mtrain: \x1b[0mError loading data from {}\nSee https://example.org/datasets for help",
        "FileNotFoundError: train: {} does not exist",
        "ValueError: The folder '{}' doesn't exist.",
        "FileNotFoundError: Dataset 'shapes.yaml' images not found, missing path '{}'",
    ],
)
def test_a_path_in_words_of_the_program_counts_where_it_really_is_not_there(said: str, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name, expected in (("imgs", Found), ("images", Clear)):
        kind, _, message = said.format(tmp_path / name).partition(": ")
        error = raised(kind, message)
        looked = look(error, str(tmp_path), {})
        assert looked is not None and looked.is_there == (name == "images")
        verdict = path_missing.examine(journal(started(), error, looked, CRASHED))
        assert isinstance(verdict, expected)
        assert isinstance(path_missing.examine(journal(started(), error, CRASHED)), Clear)
    assert "images" in look(raised(kind, said.format(tmp_path / "imgs")), "", {}).near  # type: ignore[union-attr]


def test_looking_finds_how_far_the_path_exists_and_what_is_near(tmp_path: Path) -> None:
    (tmp_path / "train-00000.tfrecord").touch()
    script = tmp_path / "train.py"
    script.write_text("root = os.environ.get('DATA_ROOT')\nhome = os.environ['HOME']\n")
    frames = [{"function": "<module>", "file": str(script), "line": 1, "module": ""}]
    error = ErrorRaised(
        at=T0, kind="FileNotFoundError", message=f"No such file or directory: '{tmp_path}/trian-00000.tfrecord'", frames=frames
    )
    seen = look(error, "", {"HOME": "/root"})
    assert seen is not None
    assert seen.exists_up_to == str(tmp_path)
    assert seen.near == ["train-00000.tfrecord"]
    assert seen.unset_variables == ["DATA_ROOT"]


EMPTY = "OpenCV(4.12.0) resize.cpp:4208: error: (-215:Assertion failed) !ssize.empty() in function 'resize'"


def unread(at: float = 8.9, exists: bool = False) -> ImageNotRead:
    return ImageNotRead(at=T0 + at, path="/data/images/45.png", exists=exists, where=f"{FOLDER}/loader.py:11")


def test_found_where_opencv_gave_none_for_the_path_and_the_program_ended_on_it() -> None:
    for kind, message in (("cv2.error", EMPTY), ("AttributeError", "'NoneType' object has no attribute 'shape'")):
        verdict = path_missing.examine(journal(started(), unread(), raised(kind, message), CRASHED))
        assert isinstance(verdict, Found)
        assert verdict.summary.startswith("There is no /data/images/45.png.")
        assert verdict.where == "loader.py:11"


def test_only_likely_where_the_program_has_got_over_such_an_image_before() -> None:
    none = raised("AttributeError", "'NoneType' object has no attribute 'shape'")
    for before, certainty in (((), Certainty.CERTAIN), ((unread(at=2),), Certainty.LIKELY)):
        verdict = path_missing.examine(journal(started(), *before, unread(), none, CRASHED))
        assert isinstance(verdict, Found)
        assert verdict.certainty is certainty


def test_clear_where_the_image_is_there_was_read_long_before_or_the_error_is_another() -> None:
    none = raised("AttributeError", "'NoneType' object has no attribute 'shape'")
    assert isinstance(path_missing.examine(journal(started(), unread(exists=True), none, CRASHED)), Clear)
    assert isinstance(path_missing.examine(journal(started(), unread(at=1), none, CRASHED)), Clear)
    assert isinstance(path_missing.examine(journal(started(), unread(), raised("ValueError", "no"), CRASHED)), Clear)
    assert isinstance(path_missing.examine(journal(started(), unread(), ENDED)), Clear)


def _refused(pattern: str) -> ErrorRaised:
    return raised("RuntimeError", f"Did not find any input files matching the glob pattern ['{pattern}']")


def test_found_where_the_error_quotes_a_pattern_that_has_just_matched_nothing() -> None:
    met = PatternMatchedNothing(at=T0 + 8.9, pattern="/data/trian-*.record", where="loader.py:11")
    looked = PathLooked(
        at=T0 + 10, path=met.pattern, exists_up_to="/data", near=["train.record"], named_at=f"{FOLDER}/pipeline.config:171"
    )
    verdict = path_missing.examine(journal(started(), met, _refused(met.pattern), looked, CRASHED))
    assert isinstance(verdict, Found) and verdict.where == "loader.py:12"
    assert verdict.summary.startswith("No file matches /data/trian-*.record.") and "pipeline.config:171" in verdict.summary
    assert verdict.actions[0] == "did you mean train.record?"


def test_clear_where_the_pattern_matched_nothing_long_before_the_error_or_is_not_quoted() -> None:
    early = PatternMatchedNothing(at=T0 + 1, pattern="/data/trian-*.record", where="loader.py:11")
    other = PatternMatchedNothing(at=T0 + 8.9, pattern="/data/resume-*.ckpt", where="loader.py:11")
    for met in (early, other):
        assert isinstance(path_missing.examine(journal(started(), met, _refused(early.pattern), CRASHED)), Clear)


def test_a_pattern_is_looked_for_in_the_files_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "train.record").touch()
    (tmp_path / "pipeline.config").write_text(f'train_config {{\n}}\n  input_path: "{tmp_path}/trian-*.record"\n')
    pattern = f"{tmp_path}/trian-*.record"
    command = ["python", "train.py", "--pipeline_config_path=pipeline.config"]
    looked = look(_refused(pattern), str(tmp_path), {}, command, [pattern])
    assert looked is not None and looked.near == ["train.record"] and looked.exists_up_to == str(tmp_path)
    assert looked.named_at == f"{tmp_path}/pipeline.config:3"


def test_a_missing_image_is_looked_for_in_the_list_on_the_command_line_as_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("img/1.jpg,1,2,3,4,cat\nimg/2.jpg,1,2,3,4,cat\n")
    error = raised("FileNotFoundError", f"[Errno 2] No such file or directory: '{tmp_path}/img/2.jpg'")
    looked = look(error, "/elsewhere", {}, ["retinanet-train", "csv", f"{tmp_path}/train.csv"])
    assert looked is not None and looked.named_at == f"{tmp_path}/train.csv:2"


@pytest.mark.parametrize(
    "said",
    [
        "{} does not match any files.\n  In call to configurable 'Trainer'",
        "Did not find any input files matching the glob pattern ['{}']",
        "No files match the pattern '{}'.",
    ],
)
def test_a_pattern_in_words_of_the_program_counts_where_nothing_matches_it(said: str, tmp_path: Path) -> None:
    (tmp_path / "train-00000.record").touch()
    for name, expected in (("trian-*.record", Found), ("train-*.record", Clear)):
        error = raised("RuntimeError", said.format(tmp_path / name))
        looked = look(error, "/elsewhere", {})
        assert looked is not None
        verdict = path_missing.examine(journal(started(), error, looked, CRASHED))
        assert isinstance(verdict, expected)
        assert not isinstance(verdict, Found) or verdict.summary.startswith(f"No file matches {tmp_path}/trian-*.record.")


@pytest.mark.parametrize(
    ("files", "near"),
    [(["44.png", "45.PNG", "46.png"], "45.PNG"), (["44.png", "45.jpg"], "45.jpg"), (["44.png", "46.png"], "")],
    ids=["other letters", "another ending", "only the next ones"],
)
def test_an_image_that_lies_there_under_another_name(tmp_path: Path, files: list[str], near: str) -> None:
    for name in files:
        (tmp_path / name).touch()
    image = ImageNotRead(at=T0 + 8.9, path=str(tmp_path / "45.png"), exists=False, where=f"{FOLDER}/loader.py:11")
    none = raised("AttributeError", "'NoneType' object has no attribute 'shape'")
    looked = look(none, FOLDER, {}, unread=image.path)
    assert looked is not None
    verdict = path_missing.examine(journal(started(), image, none, looked, CRASHED))
    assert isinstance(verdict, Found)
    assert ("In its folder lies" in verdict.summary) is bool(near)
    assert near in verdict.summary
