"""A run is kept in a bucket by a process of its own, and goes on from there on another machine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.diagnosis.workers.run_folders import LOADS, REDUCES, written_worker
from tests.storage.conftest import Place
from tests.supervisor.train.test_training_run import SUPERVISE, a_run
from unstall.base.errors import BucketError, InvalidInputError, RunNotFoundError
from unstall.config.settings import Settings
from unstall.diagnosis.findings import diagnose_workers
from unstall.diagnosis.workers.members import group_members
from unstall.diagnosis.workers.reader import find_runs, read_members
from unstall.journal import run_folder
from unstall.journal.run_folder import RunFolder
from unstall.storage import run_lookup
from unstall.storage.bucket_path import BucketPath
from unstall.storage.download import fetch_run
from unstall.storage.upload_checkpoints import CheckpointUploader, complete, fetch_newest, list_parts
from unstall.storage.upload_journal import SEGMENT_BYTES, JournalUploader, fetch_journals, list_segments
from unstall.storage.uploader import FileUploader
from unstall.supervisor.train.setup import begin, has_run, join_run


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("UNSTALL_HOME", raising=False)


def checkpoint(run: Path, step: int, contents: bytes = b"numbers" * 1000) -> str:
    """As the worker leaves one on the disk."""
    folder = run / "checkpoints" / f"step-{step:09d}"
    folder.mkdir(parents=True)
    files = {"arrays.bin": contents, "position.json": json.dumps({"step": step}).encode()}
    said = {name: {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()} for name, raw in files.items()}
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    (folder / "manifest.json").write_text(json.dumps({"version": 1, "files": said}))
    return folder.name


def target_of(place: Place) -> BucketPath:
    path = place.path("runs/first")
    assert isinstance(path, BucketPath)
    return path


def nothing(text: str) -> None:
    raise AssertionError(text)


# --- checkpoints ---


def test_a_checkpoint_comes_back_as_it_was(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unstall.storage.upload_checkpoints.PART_BYTES", 1000)
    name = checkpoint(tmp_path / "here", 120)
    CheckpointUploader(tmp_path / "here", target_of(place), nothing).keep()
    assert fetch_newest(target_of(place), tmp_path / "there", nothing) == name
    for file in (tmp_path / "here" / "checkpoints" / name).iterdir():
        assert (tmp_path / "there" / "checkpoints" / name / file.name).read_bytes() == file.read_bytes()


def test_without_its_manifest_there_is_no_checkpoint(google: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = CheckpointUploader(tmp_path, target_of(google), nothing)
    first = checkpoint(tmp_path, 10)
    kept.keep()
    checkpoint(tmp_path, 20)
    google.proxy.fault(kind="status", status=503, method="POST")
    monkeypatch.setenv("UNSTALL_STORAGE_PATIENCE_S", "0.5")
    with pytest.raises(BucketError, match=r"step-000000020/.* cannot be written: the server is not available"):
        kept.keep()
    google.proxy.heal()
    monkeypatch.delenv("UNSTALL_STORAGE_PATIENCE_S")
    time.sleep(0.6)  # a bucket that was given up is let rest
    assert complete(target_of(google) / "checkpoints") == [first]
    kept.keep()
    assert complete(target_of(google) / "checkpoints") == ["step-000000020", "step-000000010"]


def test_the_manifest_comes_last_and_old_ones_go_by_theirs_first(amazon: Place, tmp_path: Path) -> None:
    kept = CheckpointUploader(tmp_path, target_of(amazon), nothing)
    old = checkpoint(tmp_path, 10)
    kept.keep()
    shutil.rmtree(tmp_path / "checkpoints" / old)
    checkpoint(tmp_path, 20)
    amazon.proxy.seen.clear()
    kept.keep()
    written = [path.split("?")[0] for method, path in amazon.proxy.seen if method == "PUT"]
    deleted = [path.split("?")[0] for method, path in amazon.proxy.seen if method == "DELETE"]
    assert written[-1].endswith("step-000000020/manifest.json")
    assert deleted[0].endswith("step-000000010/manifest.json")
    assert amazon.proxy.seen.index(("DELETE", deleted[0])) > 0
    assert complete(target_of(amazon) / "checkpoints") == ["step-000000020"]


def test_a_bucket_is_asked_for_nothing_while_no_checkpoint_is_new(amazon: Place, tmp_path: Path) -> None:
    """It is looked for each second, for days."""
    kept = CheckpointUploader(tmp_path, target_of(amazon), nothing)
    checkpoint(tmp_path, 10)
    kept.keep()
    amazon.proxy.seen.clear()
    kept.keep()
    assert amazon.proxy.seen == []


def test_another_machine_that_writes_the_same_step_is_not_overwritten(amazon: Place, tmp_path: Path) -> None:
    ours, theirs = (CheckpointUploader(tmp_path / who, target_of(amazon), nothing) for who in ("ours", "theirs"))
    checkpoint(tmp_path / "theirs", 10, b"theirs")
    checkpoint(tmp_path / "ours", 10, b"ours")
    theirs.keep()
    with pytest.raises(BucketError, match="another process meanwhile: is the run trained on two machines"):
        ours.keep()


def test_a_newer_one_of_another_machine_is_left_and_an_own_that_was_withdrawn_goes(amazon: Place, tmp_path: Path) -> None:
    ours, theirs = (CheckpointUploader(tmp_path / who, target_of(amazon), nothing) for who in ("ours", "theirs"))
    checkpoint(tmp_path / "ours", 10)
    withdrawn = checkpoint(tmp_path / "ours", 20)
    ours.keep()
    newer = checkpoint(tmp_path / "theirs", 30)
    theirs._put(newer)
    shutil.rmtree(tmp_path / "ours" / "checkpoints" / withdrawn)
    ours.keep()
    assert complete(target_of(amazon) / "checkpoints") == ["step-000000030", "step-000000010"]


def test_an_answer_that_was_lost_is_no_other_writer(google: Place, tmp_path: Path) -> None:
    """The manifest was written, and the connection broke before that was said: the second attempt finds its own."""
    name = checkpoint(tmp_path, 10)
    kept = CheckpointUploader(tmp_path, target_of(google), nothing)
    kept.keep()
    again = CheckpointUploader(tmp_path, target_of(google), nothing)
    again._finish(name, (target_of(google) / "checkpoints" / name / "manifest.json").read_bytes())


def test_a_damaged_one_is_said_and_the_one_before_it_taken(amazon: Place, tmp_path: Path) -> None:
    first, second = checkpoint(tmp_path / "here", 10), checkpoint(tmp_path / "here", 20)
    target = target_of(amazon)
    CheckpointUploader(tmp_path / "here", target, nothing).keep()
    part = next(iter(list_parts(tmp_path / "here" / "checkpoints" / second)))
    path = target / "checkpoints" / second / part.name
    path.write_bytes(bytes(reversed(path.read_bytes())))
    said: list[str] = []
    assert fetch_newest(target, tmp_path / "there", said.append) == first
    assert len(said) == 1 and "its checksum differs" in said[0]


# --- journals and files ---


def test_a_journal_is_kept_in_whole_lines_and_comes_back(amazon: Place, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    journal = here / "events-probe-7.jsonl"
    line = b'{"event": "StepsEnded", "at": 1.0}\n'
    kept = JournalUploader(here, target_of(amazon))
    journal.write_bytes(line * 10 + line[:5])
    kept.keep()
    journal.write_bytes(line * 20)
    kept.keep()
    with journal.open("ab") as file:
        file.write(line * (SEGMENT_BYTES // len(line) + 1))
    kept.keep()
    with journal.open("ab") as file:
        file.write(line + b'{"half')
    kept.keep()
    assert len(list_segments(target_of(amazon) / "journal" / journal.name)) == 2
    fetch_journals(target_of(amazon), there)
    assert (there / journal.name).read_bytes() == journal.read_bytes().removesuffix(b'{"half')
    on_another_machine = JournalUploader(there, target_of(amazon))
    with (there / journal.name).open("ab") as file:
        file.write(line)
    on_another_machine.keep()
    assert (
        sum(size for _, size in list_segments(target_of(amazon) / "journal" / journal.name))
        == (there / journal.name).stat().st_size
    )


def test_workers_of_several_machines_that_keep_their_runs_in_one_bucket_are_read_together(amazon: Place, tmp_path: Path) -> None:
    for worker, thread in enumerate((REDUCES, LOADS)):
        run = written_worker(tmp_path / f"machine-{worker}", worker, thread)
        target = amazon.path(f"together/{run.name}")
        assert isinstance(target, BucketPath)
        JournalUploader(run.path, target).keep()
    (run_group,) = group_members(read_members(find_runs([f"{amazon.url}/together"]))).run_groups
    assert [member.worker for member in run_group.members] == [0, 1]
    root = diagnose_workers(run_group).root
    assert root is not None and (root.cause, root.found.where) == ("collective_stuck", "loader.py:12")


def test_runs_of_two_machines_never_have_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSTALL_HOME", "gs://bucket/runs")
    assert run_folder.create("train").name.endswith(f"-train-{os.uname().nodename}")
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert f"-train-worker3-{os.uname().nodename}" in run_folder.create("train").name


def test_files_are_put_when_they_have_changed(amazon: Place, tmp_path: Path) -> None:
    (tmp_path / "story.json").write_text("{}")
    (tmp_path / "compiled").mkdir()
    (tmp_path / "compiled" / "cache.bin").write_bytes(b"can be made again")
    kept = FileUploader(tmp_path, target_of(amazon))
    kept.keep(large=False)
    amazon.proxy.seen.clear()
    kept.keep(large=False)
    assert amazon.proxy.seen == []
    assert [path.name for path in target_of(amazon).rglob("*")] == ["story.json"]


# --- whole runs ---


def test_a_watched_run_lies_in_the_bucket_when_it_has_ended(google: Place, tmp_path: Path) -> None:
    """Also that the watched program sees no bucket: it writes to a folder on the disk."""
    program = tmp_path / "program.py"
    program.write_text("import os; print(os.environ['UNSTALL_RUN'])")
    command = [sys.executable, "-m", "unstall", "run", "--quiet", "--", sys.executable, str(program)]
    home = {**os.environ, "UNSTALL_HOME": f"{google.url}/runs"}
    done = subprocess.run(command, env=home, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    folder = Path(done.stdout.strip())
    assert folder.is_relative_to(tmp_path / "state")
    names = {path.name for path in google.path(f"runs/{folder.name}").iterdir()}
    assert {"journal", "story.json", "report.html"} <= names
    again = fetch_run(f"{google.url}/runs/{folder.name}")
    assert again.read_story() == RunFolder(folder).read_story()


def test_an_outage_costs_the_copy_and_never_the_run(amazon: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that keeps a run says what is wrong once, goes on, and has everything there in the end."""
    monkeypatch.setenv("UNSTALL_STORAGE_PATIENCE_S", "2.4")
    monkeypatch.setenv("UNSTALL_KEEP_EVERY_S", "0.2")
    amazon.proxy.fault(kind="status", status=503)
    run = tmp_path / "run"
    run.mkdir()
    (run / "events-probe-7.jsonl").write_bytes(b'{"event": "StepsEnded"}\n')
    command = [sys.executable, "-m", "unstall.storage.uploader", str(run), str(target_of(amazon))]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stderr is not None
    assert "cannot be kept in the bucket" in (first := process.stderr.readline()) and "HTTP 503" in first
    amazon.proxy.heal()
    while not (line := process.stderr.readline()).endswith("again.\n"):
        assert "cannot be kept" in line  # the other part of the run
    process.stdin.close()
    assert process.wait(240) == 0
    assert [size for _, size in list_segments(target_of(amazon) / "journal" / "events-probe-7.jsonl")] == [24]


def test_a_training_whose_copy_is_not_whole_does_not_end_as_if_it_were(
    amazon: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine would take the machine and its disk away."""
    monkeypatch.setenv("UNSTALL_STORAGE_PATIENCE_S", "1")
    run = a_run()
    run.keep_in(str(target_of(amazon)))
    amazon.proxy.fault(kind="status", status=503)
    impatient = f"import unstall.storage.uploader as keeping\nkeeping.SAYS_SO_AFTER_S, keeping.WAITS_S = 1.0, 4.0\n{SUPERVISE}"
    said = tmp_path / "said.txt"
    with said.open("wb") as errors:  # a file: the process that goes on trying would hold a pipe open
        done = subprocess.run([sys.executable, "-c", impatient, str(run.path)], stderr=errors, timeout=240, check=False)
    text = said.read_text()
    assert done.returncode == BucketError.exit_code, text
    assert f"waiting until everything is in {target_of(amazon)}" in text
    assert f"not everything is in {target_of(amazon)} yet" in text and str(run.path) in text


def test_a_run_goes_on_on_another_machine(amazon: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = run_folder.RunFolder(run_folder.name_folder(f"{amazon.url}/runs/first"))
    here.path.mkdir(parents=True)
    here.write_settings({"model": "ssd_tiny"})
    name = checkpoint(here.path, 30)
    FileUploader(here.path, target_of(amazon)).keep(large=False)
    CheckpointUploader(here.path, target_of(amazon), nothing).keep()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    there = fetch_run(f"{amazon.url}/runs/first", with_checkpoint=True)
    assert there.read_settings() == {"model": "ssd_tiny"}
    assert [path.name for path in there.checkpoints_path.iterdir()] == [name]
    assert there.bucket == f"{amazon.url}/runs/first"


def test_of_two_machines_that_begin_the_same_run_one_is_told_so(
    amazon: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(model="ssd_tiny")
    out = f"{amazon.url}/runs/same"
    assert begin(settings, None, out, {}).bucket == out
    assert has_run(out)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    with pytest.raises(InvalidInputError, match=f"'{out}' holds a run already. Go on with it: unstall train --resume {out}"):
        begin(settings, None, out, {})


def test_a_run_is_found_by_its_name_in_the_bucket_that_runs_are_kept_in(amazon: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    target_of(amazon).joinpath("settings.json").write_text('{"model": "ssd_tiny"}')
    monkeypatch.setenv("UNSTALL_HOME", f"{amazon.url}/runs")
    assert run_lookup.find("first").read_settings() == {"model": "ssd_tiny"}


def test_where_no_run_is_that_is_said(amazon: Place) -> None:
    amazon.path("x").write_bytes(b"x")
    with pytest.raises(RunNotFoundError, match=f"no run at {amazon.url}/runs/none"):
        fetch_run(f"{amazon.url}/runs/none")


# --- several workers ---


def test_journals_of_all_workers_come_back_and_nothing_else_of_theirs(google: Place, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    own = here / "workers" / "1"
    own.mkdir(parents=True)
    there.mkdir()
    (here / "events-probe-7.jsonl").write_text("of the first\n")
    (own / "events-probe-8.jsonl").write_text("of the second\n")
    (own / "story.json").write_text("{}")
    JournalUploader(here, target_of(google)).keep()
    FileUploader(here, target_of(google)).keep(large=False)
    fetch_journals(target_of(google), there)
    assert (there / "workers" / "1" / "events-probe-8.jsonl").read_text() == "of the second\n"
    assert (there / "events-probe-7.jsonl").read_text() == "of the first\n"
    assert not (target_of(google) / "workers" / "1" / "story.json").exists()


def test_two_machines_begin_the_same_run_each_in_its_place(google: Place) -> None:
    place = f"{google.url}/runs/first"
    own_folder = join_run(Settings(num_workers=2), place, worker=1)  # whoever comes first
    run = begin(Settings(num_workers=2), None, place, {})
    assert has_run(place) and own_folder.bucket == f"{run.bucket}/workers/1"
    assert fetch_run(place).read_settings()["num_workers"] == 2


def test_a_training_is_not_begun_where_other_things_lie(google: Place) -> None:
    """A run that was watched, say: two runs in one place would be read as one."""
    google.path("runs/first/journal/events-probe-7.jsonl/000000000000000").write_bytes(b"{}\n")
    with pytest.raises(InvalidInputError, match="--out: expected a folder that is empty or not there yet"):
        begin(Settings(), None, f"{google.url}/runs/first", {})
