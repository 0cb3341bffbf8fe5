"""Some of the runs: by state, script, model, age and words."""

from __future__ import annotations

import time
from typing import Any

import pytest

from unstall.base.errors import InvalidInputError, RunNotFoundError
from unstall.board.filters import STATES, RunFilter, find_last_good, is_good, is_script, parse_moment
from unstall.cli.runs import STATES as OFFERED

NOW = time.time()


def row(
    name: str = "a", state: str = "done", command: str = "python src/train.py --fast", age_s: float = 60.0, **more: Any
) -> dict[str, Any]:
    plain = {"run": name, "state": state, "command": command.split(), "model": None, "verdict": None, "failure": None}
    return {**plain, "began_at": NOW - age_s, "changed_at": NOW - age_s / 2, **more}


def verdict(effect: str) -> dict[str, Any]:
    return {"cause": "input_starved", "effect": effect, "where": "train.py:3", "summary": "It waits for data."}


def test_the_command_offers_every_state() -> None:
    assert tuple(OFFERED.split()) == STATES


@pytest.mark.parametrize("script", ["src/train.py", "./train.py", "train.py", "train"])
def test_a_script_is_known_by_its_path_or_its_name(script: str) -> None:
    assert is_script(row(), script)


@pytest.mark.parametrize("script", ["rain.py", "trainer.py", "src", "python", "fast"])
def test_what_only_resembles_it_is_another(script: str) -> None:
    assert not is_script(row(), script)


def test_a_training_of_ours_is_known_by_its_model() -> None:
    assert is_script(row(command="python -m unstall.training X", model="ssd_tiny"), "ssd_tiny")
    assert RunFilter(model="ssd").fits(row(model="ssd_tiny")) and not RunFilter(model="ssd").fits(row())


def test_all_that_is_wanted_must_fit() -> None:
    assert RunFilter().fits(row())
    assert RunFilter(states=("failed", "done")).fits(row()) and not RunFilter(states=("failed",)).fits(row())
    assert RunFilter(since=NOW - 100).fits(row()) and not RunFilter(since=NOW - 50).fits(row())
    assert RunFilter(before=NOW).fits(row()) and not RunFilter(before=NOW - 50).fits(row())
    assert RunFilter(words=("STARVED", "train")).fits(row(verdict=verdict("slows"))) and not RunFilter(words=("nan",)).fits(row())


def test_a_good_run_came_to_its_end_and_nothing_stopped_or_spoiled_it() -> None:
    assert is_good(row()) and is_good(row(verdict=verdict("slows")))
    assert not is_good(row(verdict=verdict("spoils"))) and not is_good(row(state="failed")) and not is_good(row(state="ended"))


def test_the_last_good_run_of_a_script_is_the_newest_one() -> None:
    rows = [
        row("old", age_s=900),
        row("good", age_s=600),
        row("bad", "failed", age_s=300),
        row("other", command="python other.py"),
    ]
    assert find_last_good(rows, "train.py", {}, lambda _: True)["run"] == "good"
    assert find_last_good(rows, "train.py", {}, lambda row: row["run"] != "good")["run"] == "old"


def test_where_none_went_well_it_is_said_which_ones_there_are() -> None:
    with pytest.raises(RunNotFoundError, match=r"No run of 'train.py' has gone well: 1 of them, the last 'bad' failed"):
        find_last_good([row("bad", "failed")], "train.py", {}, lambda _: True)
    with pytest.raises(RunNotFoundError, match=r"There is no run of 'none.py'"):
        find_last_good([row()], "none.py", {}, lambda _: True)
    with pytest.raises(RunNotFoundError, match=r"its training steps were seen, and its loss was finite"):
        find_last_good([row()], "train.py", {}, lambda _: False)


@pytest.mark.parametrize(("given", "ago"), [("30m", 1800), ("2h", 7200), ("1.5d", 129_600), ("2w", 1_209_600)])
def test_an_age_is_a_moment_ago(given: str, ago: float) -> None:
    assert parse_moment(given, "--since") == pytest.approx(time.time() - ago, abs=5)


def test_a_day_begins_at_midnight() -> None:
    assert time.strftime("%Y-%m-%d %H:%M", time.localtime(parse_moment("2026-02-28", "--since"))) == "2026-02-28 00:00"


@pytest.mark.parametrize("given", ["", "yesterday", "3", "-2d", "2026-02-30", "2026-13-01", "1y", "nan d", "9" * 400 + "d"])
def test_what_is_no_age_is_refused(given: str) -> None:
    with pytest.raises(InvalidInputError, match="--older-than: expected an age like 30m"):
        parse_moment(given, "--older-than")
