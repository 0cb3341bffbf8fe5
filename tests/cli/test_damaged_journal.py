"""A damaged journal is told as such, with how many lines of which file; one that tells nothing is no healthy run."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.board.run_folders import GONE, Written, finished
from unstall import cli
from unstall.base.errors import InvalidInputError
from unstall.board.rows import read_row
from unstall.journal.events import StepsEnded
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import encode
from unstall.report.story.outcome import EXIT_CODES

WATCHER = f"events-watcher-{GONE}.jsonl"
RUBBISH = b"".join(random.Random(line).randbytes(100).replace(b"\n", b"") + b"\n" for line in range(9))


def run_command(command: str, run: RunFolder, tmp_path: Path) -> tuple[str, str, dict[str, Any]]:
    """What is printed, the page, and the JSON."""
    page, as_json = tmp_path / "page.html", tmp_path / "story.json"
    more = ["--out", str(page)] if command == "report" else []
    done = CliRunner().invoke(cli.group, [command, str(run.path), "--json", str(as_json), *more], env={"COLUMNS": "200"})
    story = json.loads(as_json.read_text())
    assert done.exit_code == (0 if command == "report" else EXIT_CODES[story["outcome"]]), done.output
    return done.stdout, page.read_text() if page.exists() else "", story


@pytest.fixture
def run(own_home: Path) -> RunFolder:
    return finished(own_home, "2026-01-01-damaged")


def test_lines_in_the_middle_are_counted_and_the_rest_is_told(run: RunFolder, tmp_path: Path) -> None:
    whole = (run.path / WATCHER).read_bytes()
    (run.path / WATCHER).write_bytes(RUBBISH + whole)
    said = f"{WATCHER}: 9 lines could not be read"
    printed, _, story = run_command("diagnose", run, tmp_path)
    assert said in printed and "nothing wrong in what could be seen" in printed
    assert story["state"] == "done" and [(row["file"], row["lines"]) for row in story["unread"]] == [(WATCHER, 9)]
    _, page, whole_story = run_command("report", run, tmp_path)
    assert said in page and whole_story["unread"] == story["unread"]


@pytest.mark.parametrize(("contents", "why"), [(RUBBISH, "nothing in its journal could be read"), (b"", "its journal is empty")])
def test_a_journal_that_tells_nothing_leaves_the_state_unknown(contents: bytes, why: str, run: RunFolder, tmp_path: Path) -> None:
    run.story_path.unlink()
    (run.path / WATCHER).write_bytes(contents)
    os.utime(run.path / WATCHER, (1, 1))
    printed, _, story = run_command("diagnose", run, tmp_path)
    assert story["state"] == "unknown" and f"unknown   {why}" in printed
    assert "nothing wrong" not in printed and "the program runs" not in printed
    _, page, _ = run_command("report", run, tmp_path)
    assert why in page and "nothing wrong" not in page and "the program runs" not in page
    assert (read_row(run)["state"], read_row(run)["note"]) == ("unknown", why)


def test_where_the_end_may_stand_in_what_is_lost_a_run_is_not_said_to_go_on(own_home: Path, tmp_path: Path) -> None:
    written = Written(own_home, "2026-01-01-lost").starts().fits()
    written.journal.write_bytes(RUBBISH)
    (written.run.path / "events-probe-7.jsonl").write_bytes(encode(StepsEnded(at=written.began)))
    printed, _, story = run_command("diagnose", written.run, tmp_path)
    assert story["state"] == "unknown" and f"{WATCHER} could not be read, in which its end may stand" in printed.replace(
        "\n", " "
    )


def test_an_empty_journal_of_a_run_that_has_just_begun_is_in_order(own_home: Path, tmp_path: Path) -> None:
    run = RunFolder(own_home / "2026-01-01-new")
    run.path.mkdir(parents=True)
    run.journal_path("watcher", GONE).touch()
    assert read_row(run)["state"] == "starting"
    for command in ("diagnose", "report"):
        assert run_command(command, run, tmp_path)[2]["state"] == "starting"


def test_a_run_of_which_nothing_is_left_cannot_be_compared(run: RunFolder, tmp_path: Path) -> None:
    (run.path / WATCHER).write_bytes(RUBBISH)
    as_json = tmp_path / "compared.json"
    done = CliRunner().invoke(cli.group, ["compare", "--quick", str(run.path), str(run.path), "--json", str(as_json)])
    assert isinstance(done.exception, InvalidInputError) and "nothing in its journal could be read" in str(done.exception)
    assert not as_json.exists()
