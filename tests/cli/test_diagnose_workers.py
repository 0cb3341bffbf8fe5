"""`unstall diagnose` with the runs of several workers: told together, or apart with the reason; followed while they go on."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from tests.cli.test_cli import as_json, call
from tests.diagnosis.builders import T0
from tests.diagnosis.workers.run_folders import LOADS, REDUCES, write, written_worker
from tests.programs import UNSTALL
from unstall.base.exit_codes import VERDICT_FOUND
from unstall.journal.events import ProcessEnded, RunStarted, VerdictReached


def test_workers_of_one_training_are_told_together(tmp_path: Path) -> None:
    runs = [written_worker(tmp_path, 0, REDUCES), written_worker(tmp_path, 1, LOADS)]
    result = as_json("diagnose", *(str(run.path) for run in runs), code=VERDICT_FOUND)
    (run_group,), ungrouped = result["run_groups"], result["ungrouped"]
    assert not ungrouped
    assert (run_group["state"], run_group["world_size"], run_group["verdicts"][0]["cause"]) == ("stuck", 2, "collective_stuck")
    assert [(worker["name"], worker["step"], worker["where"], worker["is_blocking"]) for worker in run_group["workers"]] == [
        ("worker 0", 381, "train.py:36", False),
        ("worker 1", 381, "loader.py:12", True),
    ]
    shown = call("diagnose", f"{tmp_path}/", COLUMNS="160").stdout
    assert "collective_stuck (certain)  loader.py:12" in shown
    (line,) = [line for line in shown.splitlines() if "holds the others" in line]
    assert line.startswith("worker 1")


def test_a_run_that_belongs_to_no_other_is_told_by_itself(tmp_path: Path) -> None:
    written_worker(tmp_path, 0, REDUCES)
    written_worker(tmp_path, 1, LOADS)
    write(
        tmp_path / "alone" / "events-watcher-5.jsonl",
        RunStarted(at=T0, command=["python", "x.py"]),
        ProcessEnded(at=T0 + 9, exit_code=0),
    )
    result = as_json("diagnose", f"{tmp_path}/", code=VERDICT_FOUND)
    assert [(each["run"], each["why"], each["story"]["state"]) for each in result["ungrouped"]] == [
        ("alone", "it tells of no other workers", "done")
    ]
    assert "alone: told by itself, as it tells of no other workers." in call("diagnose", f"{tmp_path}/").stdout


def test_lines_of_a_worker_that_could_not_be_read_are_told(tmp_path: Path) -> None:
    runs = [written_worker(tmp_path, 0, REDUCES), written_worker(tmp_path, 1, LOADS)]
    with runs[1].journal_path("probe", 1).open("ab") as file:
        file.write(b"\x00rubbish\n" * 3)
    done = call("diagnose", f"{tmp_path}/", COLUMNS="160")
    assert f"damaged   {runs[1].name}/events-probe-1.jsonl: 3 lines could not be read" in done.stdout


def test_what_can_not_be_followed_is_refused(tmp_path: Path) -> None:
    done = call("diagnose", "--follow", str(tmp_path / "none"))
    assert (done.returncode, "--follow: expected one folder" in done.stderr) == (2, True)


def test_a_folder_is_followed_until_all_have_ended(tmp_path: Path) -> None:
    runs = [written_worker(tmp_path, worker, LOADS if worker == 2 else REDUCES, of=3) for worker in range(3)]
    target = tmp_path.parent / "told.json"
    process = subprocess.Popen(
        [*UNSTALL, "diagnose", str(tmp_path), "--follow", "--json", str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for worker, run in enumerate(runs):
        cause = "generator_blocked" if worker == 2 else "collective_stuck"
        write(run.journal_path("watcher", 2), VerdictReached(at=T0 + 111, cause=cause, where="loader.py:12"))
    until = time.monotonic() + 240
    while not target.exists() and time.monotonic() < until:
        time.sleep(0.1)
    for run in runs:
        write(run.journal_path("watcher", 2), ProcessEnded(at=T0 + 200, exit_code=1))
    out, said = process.communicate(timeout=240)
    assert (process.returncode, said) == (VERDICT_FOUND, f"unstall: all runs in {tmp_path} have ended.\n")
    assert "held by   worker 2 (host-2): generator_blocked at loader.py:12; 2 wait" in out
    text = json.loads(target.read_text())["run_groups"]
    assert [(holder["rank"], holder["kind"]) for holder in text[0]["blockers"]] == [(2, "elsewhere")]
