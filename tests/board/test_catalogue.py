"""All runs of a folder: in order of urgency, and read only where something can have changed."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from tests.board.run_folders import Written, finished, stuck, training
from unstall.board.catalogue import Catalogue
from unstall.board.status import compute_late_s, is_live
from unstall.journal.run_folder import RunFolder
from unstall.storage.download import MARK


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    monkeypatch.setattr("unstall.board.catalogue.LOOK_EVERY_S", 0.0)
    return Catalogue(tmp_path)


def names(catalogue: Catalogue) -> list[str]:
    return [row["run"] for row in catalogue.look()]


def test_what_is_stuck_comes_first_then_what_goes_on_then_the_rest_the_newest_first(catalogue: Catalogue) -> None:
    finished(catalogue.folder, "done")
    training(catalogue.folder, "older", seconds=90)
    training(catalogue.folder, "newer")
    stuck(catalogue.folder, "stuck")
    assert names(catalogue) == ["stuck", "newer", "older", "done"]


def test_runs_come_and_go(catalogue: Catalogue) -> None:
    assert names(catalogue) == []
    first = catalogue.number
    training(catalogue.folder, "new")
    assert names(catalogue) == ["new"]
    assert [row["run"] for row in catalogue.changed_since(first)[0]] == ["new"]
    shutil.rmtree(catalogue.folder / "new")
    assert catalogue.find("new") is None
    assert names(catalogue) == []
    assert catalogue.changed_since(first + 1) == ([], ["new"])


def test_a_run_that_is_over_is_read_once_until_its_folder_changes(catalogue: Catalogue) -> None:
    run = finished(catalogue.folder, "done")
    assert [row["state"] for row in catalogue.look()] == ["done"]
    at = run.path.stat().st_mtime_ns
    run.story_path.write_text("{}")
    os.utime(run.path, ns=(at, at))
    assert [row["state"] for row in catalogue.look()] == ["done"]
    Written(catalogue.folder, "done", time.time(), pid=1234567).starts().fits().steps(0, 9, 3)
    assert [row["state"] for row in catalogue.look()] == ["training"]


def test_only_rows_that_became_other_are_told_again(catalogue: Catalogue) -> None:
    finished(catalogue.folder, "done")
    moves = training(catalogue.folder, "moves")
    catalogue.look()
    seen = catalogue.number
    moves.steps(571, 580, 61)
    catalogue.look()
    assert [row["run"] for row in catalogue.changed_since(seen)[0]] == ["moves"]


def test_other_things_in_the_folder_are_no_runs(catalogue: Catalogue, tmp_path_factory: pytest.TempPathFactory) -> None:
    (catalogue.folder / "notes.txt").write_text("x")
    (catalogue.folder / "pictures").mkdir()
    (catalogue.folder / "pictures" / "cat.png").write_bytes(b"x")
    elsewhere = training(tmp_path_factory.mktemp("elsewhere"), "private").run.path
    (catalogue.folder / "link").symlink_to(elsewhere)
    training(catalogue.folder, ".hidden")
    assert names(catalogue) == []
    assert catalogue.find("link") is None and catalogue.find("..") is None
    training(catalogue.folder, "pictures")
    assert names(catalogue) == ["pictures"]


def test_a_folder_made_a_moment_ago_is_a_run_about_to_begin_and_none_if_nothing_comes(catalogue: Catalogue) -> None:
    for name in ("comes", "never"):
        (catalogue.folder / name).mkdir()
    assert sorted((row["run"], row["state"]) for row in catalogue.look()) == [("comes", "starting"), ("never", "starting")]
    training(catalogue.folder, "comes")
    os.utime(catalogue.folder / "never", (1, 1))
    assert [(row["run"], row["state"]) for row in catalogue.look()] == [("comes", "training")]
    assert names(catalogue) == ["comes"] and catalogue.find("never") is None


def test_a_folder_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    assert Catalogue(tmp_path / "nowhere").look() == []


# --- what still goes on ---


def test_a_run_goes_on_while_its_journal_grows_or_its_program_is_there(tmp_path: Path) -> None:
    now = time.time()
    journal = [tmp_path / f"events-watcher-{os.getpid()}.jsonl"]
    assert is_live(journal, now - 2, now - 500, 0, now)
    assert not is_live(journal, now - 200, now - 500, 0, now)  # this process is not called unstall
    assert is_live(journal, now - 200, now + 500, os.getpid(), now)


def test_a_process_that_began_after_the_run_is_another_one_with_the_same_number() -> None:
    now = time.time()
    assert not is_live([], now - 200, now - 86400 * 365, os.getpid(), now)


def test_a_copy_of_a_run_in_a_bucket_is_seen_later_and_has_no_process_here(tmp_path: Path) -> None:
    now = time.time()
    run = RunFolder(tmp_path)
    assert compute_late_s(run) == 0
    (tmp_path / MARK).touch()
    assert is_live([], now - 20, now + 500, os.getpid(), now, compute_late_s(run))
    assert not is_live([], now - 40, now + 500, os.getpid(), now, compute_late_s(run))
