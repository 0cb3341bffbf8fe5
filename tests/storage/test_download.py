"""Runs that other machines keep in a bucket: copied to the disk to be listed, found, followed and shown, and never ours to change."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.cli.test_cli import as_json, call
from tests.diagnosis.builders import T0
from tests.diagnosis.workers.run_folders import LOADS, REDUCES, write, written_worker
from tests.storage.conftest import Place
from tests.storage.test_runs_in_buckets import checkpoint
from unstall.base.errors import RunNotFoundError
from unstall.board.launcher import serve_forever
from unstall.diagnosis.workers.blocker import Blockage
from unstall.diagnosis.workers.follower import follow_bucket
from unstall.diagnosis.workers.members import RunGroup
from unstall.diagnosis.workers.reader import find_runs
from unstall.journal import run_folder
from unstall.journal.events import ProcessEnded, VerdictReached
from unstall.journal.run_folder import RunFolder
from unstall.storage import run_lookup
from unstall.storage.bucket_path import BucketPath
from unstall.storage.download import copy_run, find_mirror, is_copy, lock_copy, take_over
from unstall.storage.upload_checkpoints import CheckpointUploader
from unstall.storage.upload_journal import JournalUploader
from unstall.storage.uploader import LARGE_BYTES, FileUploader
from unstall.supervisor.train.setup import load_resumed

LINE = b'{"event":"StepsEnded","at":1.0}\n'


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("UNSTALL_HOME", raising=False)


def path_of(place: Place, name: str) -> BucketPath:
    path = place.path(f"runs/{name}")
    assert isinstance(path, BucketPath)
    return path


def trained_elsewhere(place: Place, folder: Path, name: str) -> Path:
    """A run of another machine, as it lies there and, kept by that machine, in the bucket."""
    run = RunFolder(folder / name)
    run.path.mkdir(parents=True)
    run.write_settings({"model": "ssd_tiny"})
    run.journal_path("probe", 7).write_bytes(LINE * 10)
    keep(place, run.path)
    return run.path


def keep(place: Place, run: Path) -> None:
    JournalUploader(run, path_of(place, run.name)).keep()
    kept = FileUploader(run, path_of(place, run.name))
    kept.keep(large=False)
    kept.keep(large=True)


def test_a_look_brings_what_is_new_and_no_weights(amazon: Place, tmp_path: Path) -> None:
    there = trained_elsewhere(amazon, tmp_path / "there", "2026-01-01-first")
    (there / "best.safetensors").write_bytes(bytes(LARGE_BYTES + 1))
    keep(amazon, there)
    mirror = find_mirror(f"{amazon.url}/runs")
    (run,) = mirror.look()
    assert is_copy(run) and run.path == mirror.folder / there.name
    assert run.read_settings() == {"model": "ssd_tiny"}
    assert not run.best_weights_path.exists()
    with (there / "events-probe-7.jsonl").open("ab") as file:
        file.write(LINE * 5)
    keep(amazon, there)
    mirror.look()
    assert run.journal_path("probe", 7).read_bytes() == LINE * 15
    amazon.proxy.seen.clear()
    mirror.look()
    assert [path for method, path in amazon.proxy.seen if "list-type" not in path] == []  # nothing is new: one listing


def test_a_run_of_this_machine_is_left_as_it_is(amazon: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained_elsewhere(amazon, tmp_path / "there", "2026-01-01-first")
    monkeypatch.setenv("UNSTALL_HOME", f"{amazon.url}/runs")
    own = RunFolder(run_folder.get_home() / "2026-01-01-first")
    own.path.mkdir(parents=True)
    own.write_settings({"model": "changed here a moment ago"})
    find_mirror(f"{amazon.url}/runs").look()
    assert own.read_settings() == {"model": "changed here a moment ago"}
    assert not own.journal_path("probe", 7).exists() and run_lookup.find("2026-01-01-first") == own


def test_a_journal_that_was_written_otherwise_is_brought_whole(amazon: Place, tmp_path: Path) -> None:
    """The run was begun anew at the same place: what the disk has is not the beginning of what the bucket has now."""
    there = trained_elsewhere(amazon, tmp_path / "there", "2026-01-01-first")
    mirror = find_mirror(f"{amazon.url}/runs")
    (run,) = mirror.look()
    run.journal_path("probe", 7).write_bytes(LINE.replace(b"1.0", b"9.0") * 9)
    mirror.look()
    assert run.journal_path("probe", 7).read_bytes() == (there / "events-probe-7.jsonl").read_bytes()


def test_the_copy_of_a_run_that_is_gone_goes(amazon: Place, tmp_path: Path) -> None:
    for name in ("2026-01-01-first", "2026-01-02-second"):
        trained_elsewhere(amazon, tmp_path / "there", name)
    mirror = find_mirror(f"{amazon.url}/runs")
    assert len(mirror.look()) == 2
    for path in path_of(amazon, "2026-01-01-first").rglob("*"):
        path.unlink()
    mirror.look()
    assert [path.name for path in mirror.folder.iterdir()] == ["2026-01-02-second"]


def test_runs_of_all_machines_are_listed_and_found_where_they_are_kept_in_a_bucket(
    google: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_elsewhere(google, tmp_path / "there", "2026-01-01-first")
    trained_elsewhere(google, tmp_path / "there", "2026-01-02-second")
    monkeypatch.setenv("UNSTALL_HOME", f"{google.url}/runs")
    assert run_lookup.find("last").name == "2026-01-02-second"
    assert run_lookup.find("2026-01-01").read_settings() == {"model": "ssd_tiny"}
    with pytest.raises(RunNotFoundError, match=f"Latest runs in {google.url}/runs: 2026-01-01-first, 2026-01-02-second"):
        run_lookup.find("none")
    assert [row["run"] for row in as_json("runs")["runs"]] == ["2026-01-01-first", "2026-01-02-second"]


def test_a_bucket_that_is_away_hides_no_run_of_the_disk(google: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSTALL_HOME", f"{google.url}/runs")
    monkeypatch.setenv("UNSTALL_STORAGE_PATIENCE_S", "0.5")
    google.proxy.fault(kind="status", status=503)
    done = call("runs")
    assert done.returncode == 6 and "HTTP 503" in done.stderr and done.stdout == ""  # not: there is no run
    (run_folder.get_home() / "2026-01-01-own").mkdir(parents=True)
    done = call("runs")
    assert done.returncode == 0 and "2026-01-01-own" in done.stdout
    assert "HTTP 503" in done.stderr and "Only the runs on this disk are listed." in done.stderr


def test_a_run_that_is_resumed_by_its_name_has_its_checkpoint(
    amazon: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it was looked at here before: such a copy has none."""
    there = trained_elsewhere(amazon, tmp_path / "there", "2026-01-01-first")
    name = checkpoint(there, 30)
    CheckpointUploader(there, path_of(amazon, there.name), lambda text: None).keep()
    monkeypatch.setenv("UNSTALL_HOME", f"{amazon.url}/runs")
    assert not run_lookup.find("last").checkpoints_path.exists()
    run, _ = load_resumed("2026-01-01-first", {})
    assert [path.name for path in run.checkpoints_path.iterdir()] == [name]
    assert not is_copy(run)


def test_a_run_that_was_taken_over_is_no_copy_for_whoever_was_about_to_bring_it(amazon: Place, tmp_path: Path) -> None:
    trained_elsewhere(amazon, tmp_path / "there", "2026-01-01-first")
    source = path_of(amazon, "2026-01-01-first")
    run = copy_run(source)
    with lock_copy(run) as is_ours:
        assert is_ours
        with lock_copy(run, waits_s=0) as is_theirs:
            assert not is_theirs
        take_over(run)
    run.write_settings({"model": "changed here"})
    assert copy_run(source).read_settings() == {"model": "changed here"} and not is_copy(run)


def test_where_no_run_lies_that_is_said(google: Place) -> None:
    with pytest.raises(RunNotFoundError, match=f"There is no run at {google.url}/none"):
        find_runs([f"{google.url}/none"])


# --- followed ---


def test_workers_that_keep_their_runs_in_a_bucket_are_followed_there(
    amazon: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outage on the way is said, and is nobody's silence."""
    monkeypatch.setattr("unstall.storage.download.LOOK_EVERY_S", 0.05)
    monkeypatch.setenv("UNSTALL_STORAGE_PATIENCE_S", "0.4")
    runs = [written_worker(tmp_path / "there", worker, LOADS if worker == 2 else REDUCES, of=3) for worker in range(3)]
    for worker, run in enumerate(runs):
        cause = "generator_blocked" if worker == 2 else "collective_stuck"
        write(run.journal_path("watcher", 2), VerdictReached(at=T0 + 111, cause=cause, where="loader.py:12"))
        keep(amazon, run.path)
    amazon.proxy.fault(kind="status", status=503)
    said: list[str] = []
    rows: list[Blockage] = []

    def say(text: str) -> None:
        said.append(text)
        amazon.proxy.heal()

    def on_blockage(workers: RunGroup, holding: Blockage) -> None:
        rows.append(holding)
        for run in runs:
            write(run.journal_path("watcher", 2), ProcessEnded(at=T0 + 200, exit_code=1))
            keep(amazon, run.path)

    follow_bucket(f"{amazon.url}/runs", on_blockage, lambda follower: None, say)
    assert [(holder.snapshot.worker, holder.kind) for holder in rows[0].holders] == [(2, "elsewhere")]
    assert "HTTP 503" in said[0] and said[1:] == [f"{amazon.url}/runs is there again."]


def test_a_board_is_fed_while_somebody_looks(amazon: Place, tmp_path: Path) -> None:
    trained_elsewhere(amazon, tmp_path / "there", "2026-01-01-first")
    mirror, ended = find_mirror(f"{amazon.url}/runs"), threading.Event()
    asked: list[float] = [time.monotonic() - 1000.0]

    def asked_at() -> float:
        ended.set()
        return asked[0]

    serve_forever(mirror, asked_at, ended, pytest.fail)
    assert not mirror.folder.exists()
    ended.clear()
    asked[0] = time.monotonic()
    serve_forever(mirror, asked_at, ended, pytest.fail)
    assert [path.name for path in mirror.folder.iterdir()] == ["2026-01-01-first"]


def test_pages_and_settings_are_written_to_a_bucket(google: Place, tmp_path: Path) -> None:
    there = trained_elsewhere(google, tmp_path / "there", "2026-01-01-first")
    page = f"{google.url}/compare.html"
    done = call("compare", str(there), f"{google.url}/runs/{there.name}", "--quick", "--html", page)
    assert (done.returncode, done.stderr) == (0, "")
    assert google.path("compare.html").read_text().startswith("<!doctype html>")
