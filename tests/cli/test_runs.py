"""`unstall runs`: listed, chosen, pruned; and the last good one by its name."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.board.run_folders import finished, training
from tests.programs import UNSTALL
from unstall import cli
from unstall.base.errors import UnstallError


def call(*arguments: str) -> Result:
    """As a command, in this process; a mistake is the error itself."""
    done = CliRunner().invoke(cli.group, ["runs", *arguments], prog_name="unstall")
    if isinstance(done.exception, UnstallError):
        raise done.exception
    return done


def as_json(*arguments: str) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(call(*arguments, "--json", "-").stdout)
    return plain


@pytest.fixture
def home(own_home: Path) -> Path:
    finished(own_home, "2026-01-01-first")
    finished(own_home, "2026-01-02-second")
    finished(own_home, "2026-01-03-bad", "failed")
    training(own_home, "2026-01-04-live")
    return own_home


def names(plain: dict[str, Any]) -> list[str]:
    return [row["run"] for row in plain["runs"]]


def test_runs_are_listed_oldest_first_with_state_and_progress(home: Path) -> None:
    listed = as_json()["runs"]
    assert [(row["state"], row["is_live"]) for row in listed] == [
        ("done", False),
        ("done", False),
        ("failed", False),
        ("training", True),
    ]
    printed = call().stdout
    assert "2026-01-04-live" in printed and "571/1,000" in printed


def test_some_of_them_are_chosen(home: Path) -> None:
    assert names(as_json("--state", "failed")) == ["2026-01-03-bad"]
    assert names(as_json("--state", "failed", "--state", "training")) == ["2026-01-03-bad", "2026-01-04-live"]
    assert names(as_json("second")) == ["2026-01-02-second"]
    assert names(as_json("--since", "10m")) == ["2026-01-04-live"]
    assert as_json("--script", "other.py") == {"runs": [], "left_out": 4}
    assert "None of 4 runs fits." in call("--script", "other.py").stdout


def test_the_last_good_run_of_a_script_is_its_name_alone(home: Path) -> None:
    assert call("--last-good", "train.py").stdout.strip() in {"2026-01-01-first", "2026-01-02-second"}
    with pytest.raises(UnstallError, match=r"There is no run of 'other.py'"):
        call("--last-good", "other.py")


@pytest.mark.parametrize("typed", ["./train.py", "../mine/train.py", "{folder}/train.py", "{folder}/../mine/train.py"])
def test_a_script_is_found_by_any_path_of_it(typed: str, own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command of each was `python train.py`, in a folder of its own."""
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        run = finished(own_home, f"2026-01-0{len(name)}-{name}")
        run.record_path.write_text(json.dumps({"record": {"run": {"script": str(tmp_path / name / "train.py")}}}))
    monkeypatch.chdir(tmp_path / "mine")
    script = typed.format(folder=tmp_path / "mine")
    assert call("--last-good", script).stdout.strip() == "2026-01-04-mine"
    assert names(as_json("--script", script)) == ["2026-01-04-mine"]
    assert len(as_json("--script", "train.py")["runs"]) == 2


def test_without_a_record_the_path_is_that_of_the_first_event(home: Path) -> None:
    assert names(as_json("--script", "/home/user/train.py", "--state", "done")) == ["2026-01-01-first", "2026-01-02-second"]
    assert names(as_json("--script", "/home/other/train.py")) == []


def test_a_dry_run_says_what_would_go_and_removes_nothing(home: Path) -> None:
    result = as_json("--prune", "--older-than", "10m", "--keep", "1", "--dry-run")
    assert [row["run"] for row in result["pruned"]] == ["2026-01-01-first", "2026-01-02-second"]
    assert result["is_dry_run"] and result["bytes"] > 0 and len(as_json()["runs"]) == 4


def test_pruning_removes_what_was_chosen_and_says_how_much(home: Path) -> None:
    done = call("--prune", "--state", "failed", "--yes")
    assert "2026-01-03-bad" in done.stdout and "1 run, " in done.stdout and "freed." in done.stdout
    assert names(as_json()) == ["2026-01-01-first", "2026-01-02-second", "2026-01-04-live"]
    assert as_json("--prune", "--state", "training", "--yes")["pruned"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--prune", "--yes"], "--prune: expected which runs"),
        (["--prune", "--keep", "1"], "there is nobody to ask. Expected --yes"),
        (["--yes"], "--yes says how to prune"),
        (["--keep", "3"], "--keep says how to prune"),
        (["--since", "soon"], "--since: expected an age like 30m"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_removed(arguments: list[str], words: str, home: Path) -> None:
    with pytest.raises(UnstallError, match=words):
        call(*arguments)
    assert len(as_json()["runs"]) == 4


def test_a_mistake_ends_with_2_and_a_line(own_home: Path) -> None:
    done = subprocess.run(
        [*UNSTALL, "runs", "--since", "soon"], capture_output=True, text=True, check=False, env={**os.environ}, timeout=240
    )
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
