"""The folder of a training: settings are whole, or a mistake that is named."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from unstall.base.errors import InvalidInputError, RunNotFoundError
from unstall.config.settings import Settings, as_plain, from_plain, from_stored
from unstall.journal import run_folder
from unstall.journal.run_folder import RunFolder
from unstall.storage import run_lookup


def test_settings_come_back_as_they_were_written(tmp_path: Path) -> None:
    run, given, changed = RunFolder(tmp_path), Settings(batch_size=8), Settings(batch_size=8, micro_batch_size=4)
    run.write_settings(as_plain(given), are_given=True)
    run.write_settings(as_plain(changed))
    assert from_plain(run.read_settings(are_given=True)) == given
    assert from_plain(run.read_settings()) == changed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["settings-given.json", "settings.json"]


def test_settings_of_a_run_that_was_begun_when_workers_were_threads_are_still_read(tmp_path: Path) -> None:
    old = as_plain(Settings(num_input_workers=3))
    old["workers"] = old.pop("num_input_workers")
    RunFolder(tmp_path).write_settings(old)
    assert from_stored(RunFolder(tmp_path).read_settings()) == Settings(num_input_workers=3)


def test_a_folder_of_something_else_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"is no run of `unstall train`: settings\.json"):
        RunFolder(tmp_path).read_settings()


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_broken_settings_are_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(InvalidInputError, match=r"settings\.json': expected"):
        RunFolder(tmp_path).read_settings()


def test_a_run_that_is_kept_in_a_bucket_lies_on_the_disk_and_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("UNSTALL_HOME", "gs://photos/watched/")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")  # where nobody answers
    monkeypatch.setenv("UNSTALL_STORAGE_PATIENCE_S", "0.5")
    run = run_folder.create("train")
    assert run.path.parent == tmp_path / "unstall" / "buckets" / "gs" / "photos" / "watched"
    assert run.bucket == f"gs://photos/watched/{run.name}"
    assert run_lookup.find("last").path == run.path
    assert run_folder.name_folder("s3://photos/../../etc") == tmp_path / "unstall" / "buckets" / "s3" / "photos" / "etc"


@pytest.mark.parametrize("place", ["gs://", "gs:///runs", "ftp://host/runs"])
def test_a_home_that_can_be_none_is_refused_and_a_program_has_its_run_all_the_same(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """`gs://$BUCKET/runs` of a variable that is not set; inside a program nothing may be raised for it."""
    monkeypatch.setenv("UNSTALL_HOME", place)
    with pytest.raises(InvalidInputError, match=f"UNSTALL_HOME: expected a folder, .* Received: '{place}'"):
        run_folder.get_home()
    made = run_folder.create("train").path
    assert made.is_relative_to(tempfile.gettempdir())
    made.rmdir()


@pytest.mark.parametrize(
    ("count", "text"), [(2, "begins 2 runs: 2026-0, 2026-1."), (6, "begins 6 runs, the latest 5 of them: 2026-1,")]
)
def test_a_name_that_several_runs_begin_with_says_how_many_of_them_are_named(count: int, text: str, own_home: Path) -> None:
    for number in range(count):
        (own_home / f"2026-{number}").mkdir(parents=True)
    with pytest.raises(RunNotFoundError, match=text):
        run_lookup.find("2026")


def test_a_run_folder_in_the_working_folder_is_found_by_its_name_alone(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r1").mkdir()
    (tmp_path / "r1" / "events-watcher-1.jsonl").write_text("")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    assert run_lookup.find("r1").path == tmp_path / "r1"
    with pytest.raises(RunNotFoundError):
        run_lookup.find("other")
    (own_home / "r1").mkdir(parents=True)
    (own_home / "r1" / "events-watcher-1.jsonl").write_text("")
    assert run_lookup.find("r1").path == own_home / "r1"  # a name from `unstall runs` is that first
