"""Run folders that older versions wrote, by the names of then: each is diagnosed, reported, listed and compared as it was then."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unstall.base.exit_codes import VERDICT_FOUND
from unstall.board.catalogue import Catalogue
from unstall.compare.record.store import load_record
from unstall.data.check import defects
from unstall.journal import legacy_names
from unstall.journal.events import EpochEnded, PlanMade
from unstall.journal.reader import read_folder
from unstall.journal.run_folder import RunFolder
from unstall.training.loop.position import Position

OLD_RUNS = Path(__file__).parent / "old_runs"
RUNS = {  # state, cause, where
    "healthy": ("done", None, None),
    "nan": ("done", "loss_not_finite", "train.py:12"),
    "hang": ("killed", "generator_blocked", "hang.py:12"),
    "trained": ("done", None, None),
}
PAIRS = [("healthy", "nan"), ("nan", "healthy"), ("healthy", "hang"), ("healthy", "trained"), ("trained", "trained")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy: what is read may be kept anew beside it, and the old files are to stay as they are."""
    return Path(shutil.copytree(OLD_RUNS, tmp_path / "runs"))


def unstall(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "unstall", *arguments],
        env={**os.environ, "UNSTALL_HOME": str(home), "NO_COLOR": "1", "COLUMNS": "160"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    return done


def as_json(home: Path, *arguments: str) -> tuple[dict[str, Any], int]:
    done = unstall(home, *arguments, "--json", "-")
    assert done.stdout.startswith("{"), done.stderr
    return json.loads(done.stdout), done.returncode


def keys_of(plain: Any) -> set[str]:
    """All names in it, at any depth; those that the program itself has chosen are in it, too."""
    if isinstance(plain, dict):
        return set(plain) | {key for value in plain.values() for key in keys_of(value)}
    return {key for value in plain for key in keys_of(value)} if isinstance(plain, list) else set()


OLD_KEYS = {"membership", "given_up", "cure", "do", "yours", "learn_s", "wait_s", "score_s", "crew", "crews", "told"}


# --- the commands ---


@pytest.mark.parametrize("name", RUNS)
def test_it_is_diagnosed_as_it_was(name: str, home: Path) -> None:
    state, cause, where = RUNS[name]
    story, exit_code = as_json(home, "diagnose", name)
    assert exit_code == (VERDICT_FOUND if cause else 0)
    assert (story["state"], story["outcome"]) == (state, "found" if cause else "clear")
    assert [(each["cause"], each["where"]) for each in story["verdicts"]] == ([(cause, where)] if cause else [])
    assert all(remedy["action"] for verdict in story["verdicts"] for remedy in verdict["remedies"])
    assert not keys_of(story) & OLD_KEYS
    said = unstall(home, "diagnose", name)
    assert said.returncode == exit_code and (cause or "nothing wrong") in said.stdout


@pytest.mark.parametrize("name", RUNS)
def test_its_report_is_written(name: str, home: Path, tmp_path: Path) -> None:
    page, data = tmp_path / "page.html", tmp_path / "report.json"
    done = unstall(home, "report", name, "--out", str(page), "--json", str(data))
    assert done.returncode == 0, done.stderr
    cause = RUNS[name][1]
    shown = page.read_text(encoding="utf-8")
    assert shown.startswith("<!doctype html>") and shown.rstrip().endswith("</html>")
    assert cause is None or f'id="verdict-{cause}"' in shown
    story = json.loads(data.read_text(encoding="utf-8"))
    assert [each["cause"] for each in story["verdicts"]] == ([cause] if cause else [])
    assert story["timeline"]["plots"] and not keys_of(story) & OLD_KEYS


def test_all_are_listed(home: Path) -> None:
    result, exit_code = as_json(home, "runs")
    assert exit_code == 0
    rows = {row["run"]: row for row in result["runs"]}
    assert {name: (row["state"], row["verdict"], row["where"]) for name, row in rows.items()} == RUNS
    assert rows["trained"]["model"] == "ssd_tiny" and "numpy.isfinite" not in rows["healthy"]["command"]
    assert not keys_of(result) & OLD_KEYS
    said = unstall(home, "runs")
    assert said.returncode == 0 and all(name in said.stdout for name in RUNS)


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_two_of_them_are_compared(before: str, after: str, home: Path, tmp_path: Path) -> None:
    plain, exit_code = as_json(home, "compare", before, after)
    assert exit_code == 0 and plain["summary"]
    assert (plain["before"]["name"], plain["after"]["name"]) == (before, after)
    assert [plain[side]["cause"] or None for side in ("before", "after")] == [RUNS[before][1], RUNS[after][1]]
    if (before, after) == ("healthy", "nan"):
        assert [(each["name"], each["detail"]) for each in plain["differences"]] == [("command", "--nan")]
    if before == after:
        assert plain["differences"] == []
    done = unstall(home, "compare", before, after, "--html", str(tmp_path / "page.html"))
    assert done.returncode == 0 and (tmp_path / "page.html").stat().st_size > 0


def test_the_board_shows_them(home: Path) -> None:
    rows = {row["run"]: row for row in Catalogue(home).look()}
    found = {name: (row["state"], row["verdict"] and row["verdict"]["cause"]) for name, row in rows.items()}
    assert found == {name: (state, cause) for name, (state, cause, _) in RUNS.items()}


# --- what was written by older names ---


def test_a_story_has_the_names_of_today() -> None:
    for name in RUNS:
        story = RunFolder(OLD_RUNS / name).read_story()
        assert story is not None and {"distributed", "repair_failed"} <= set(story)
        assert not keys_of(story) & OLD_KEYS
        assert all("fix" in row for row in story["unknown"])
    hang = RunFolder(OLD_RUNS / "hang").read_story() or {}
    assert hang["verdicts"][0]["remedies"][0]["action"].startswith("see that what fills the queue is still alive")


def test_a_worker_of_several_and_its_repairs_keep_their_numbers() -> None:
    story = legacy_names.update_story({
        "membership": {"worker": 1, "of": 4, "cluster": "10.0.0.1:9"},
        "given_up": {"cause": "loss_diverged"},
        "repairs": [{"remedy": "lower_rate", "attempt": 1, "most": 10}, {"remedy": "shrink_micro_batch", "most": 10}],
        "threads": [{"name": "MainThread", "yours": True, "samples": 3, "of": 4, "for_s": 2.0}],
    })  # fmt: skip
    assert story == {
        "distributed": {"rank": 1, "world_size": 4, "cluster": "10.0.0.1:9"},
        "repair_failed": {"cause": "loss_diverged"},
        "repairs": [
            {"remedy": "lower_learning_rate", "attempt": 1, "max_attempts": 10},
            {"remedy": "shrink_micro_batch", "max_attempts": 10},
        ],
        "threads": [{"name": "MainThread", "is_user_code": True, "samples": 3, "total_samples": 4, "duration_s": 2.0}],
    }


@pytest.mark.parametrize("odd", [{}, {"verdicts": 3, "unknown": [4], "repairs": {}, "membership": [], "numerics": "none"}])
def test_a_story_of_an_odd_form_is_read_all_the_same(odd: dict[str, Any]) -> None:
    assert len(legacy_names.update_story(odd)) == len(odd)


def test_a_journal_of_the_trainer_has_the_columns_of_today() -> None:
    logs = read_folder(OLD_RUNS / "trained").of(EpochEnded)[-1].logs
    assert {name: logs[name] for name in ("train_s", "input_wait_s", "eval_s", "learning_rate")} == {
        "train_s": 0.154, "input_wait_s": 0.001, "eval_s": 0.808, "learning_rate": 0.0003,
    }  # fmt: skip


def test_a_record_that_was_kept_is_made_anew(home: Path) -> None:
    run = RunFolder(home / "trained")
    kept = json.loads(run.record_path.read_text(encoding="utf-8"))
    journal_bytes = sum(path.stat().st_size for path in run.path.glob("events-*.jsonl"))
    run.record_path.write_text(json.dumps({**kept, "journal_bytes": journal_bytes}))
    assert "score_s" in kept["record"]["figures"]["last_epoch"]
    assert load_record(run)["figures"]["last_epoch"]["eval_s"] == 0.808


def test_the_metrics_of_a_program_keep_their_names(tmp_path: Path) -> None:
    line = {"event": "EpochEnded", "at": 1.0, "epoch": 0, "logs": {"rate": 0.5, "wait_s": 2.0}}
    (tmp_path / "events-inside-1.jsonl").write_text(json.dumps(line) + "\n")
    (ended,) = read_folder(tmp_path).of(EpochEnded)
    assert ended.logs == {"rate": 0.5, "wait_s": 2.0}


def test_a_remedy_in_a_journal_has_the_name_of_today(tmp_path: Path) -> None:
    lines = [{"event": "PlanMade", "at": float(at), "remedy": old, "most": 3} for at, old in enumerate(legacy_names.REMEDIES)]
    (tmp_path / "events-watcher-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [plan.remedy for plan in read_folder(tmp_path).of(PlanMade)] == list(legacy_names.REMEDIES.values())


def test_a_checkpoint_goes_on_with_the_columns_of_today() -> None:
    row = {"epoch": 1, "step": 5, "loss": 2.0, "rate": 0.1, "AP": 0.5, "learn_s": 3.0, "wait_s": 1.0, "score_s": 0.5}
    plain = {"epoch": 1, "steps_per_epoch": 5, "now": {}, "history": [row]}
    at = Position.from_plain(plain, steps_per_epoch=5)
    assert at.history == [
        {"epoch": 1, "step": 5, "loss": 2.0, "learning_rate": 0.1, "AP": 0.5, "train_s": 3.0, "input_wait_s": 1.0, "eval_s": 0.5}
    ]
    assert set(at.end_epoch({"AP": 0.6}, 0.4)) >= set(at.history[0]) - {"loss"}


def test_defects_that_were_kept_with_a_run_are_shown(tmp_path: Path) -> None:
    folder = tmp_path / defects.FOLDER
    folder.mkdir()
    old = [
        {"name": "box_inside_out", "severity": "breaks", "count": 2, "summary": "S.", "harm": "H.", "do": "D."},
        {"name": "box_twice", "severity": "harms", "count": 1, "summary": "S.", "harm": "H.", "do": "D."},
    ]
    (folder / "defects.json").write_text(json.dumps({"data": "d", "images": 3, "images_looked_at": 3, "problems": old}))
    result = defects.read_run_defects(RunFolder(tmp_path))
    assert result is not None
    assert [(row["name"], row["severity"], row["impact"], row["action"]) for row in result["problems"]] == [
        ("box_inverted", "error", "H.", "D."),
        ("box_duplicate", "warning", "H.", "D."),
    ]
