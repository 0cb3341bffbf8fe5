"""The story as story_text and as JSON: what a person reads, what a script parses."""

import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.diagnosis.builders import journal, started, steps
from unstall.base.console import create_console, create_grid, print_clean
from unstall.base.errors import InvalidInputError
from unstall.base.formatting import format_duration, format_size
from unstall.diagnosis.findings import diagnose
from unstall.report.json import refuse_unwritable, write
from unstall.report.story.outcome import UNEXPLAINED, find_outcome
from unstall.report.story.run import build_story
from unstall.report.terminal import story as story_text

NO_FIX = {"missing": "batches that pass through Python", "fix": "", "causes": "batch_constant"}
FIX = {"missing": "the permission to read stacks", "fix": "run it with sudo", "causes": "generator_blocked"}
VERDICT = {
    "cause": "generator_blocked",
    "certainty": "certain",
    "summary": "Your input code has not given a batch.",
    "where": "loader.py:57",
    "evidence": [{"claim": "nothing has moved for 86 s"}],
    "remedies": [{"action": "give it a timeout"}],
}


def story(**changed: Any) -> dict[str, Any]:
    events = journal(started(), steps(0, 10, at=3), now=20)
    plain = {**build_story(events, diagnose(events)), "unknown": [], **changed}
    is_given = "outcome" in changed or "state" not in changed
    return plain if is_given else {**plain, "outcome": find_outcome(plain, UNEXPLAINED.get(plain["state"]))}


def shown(plain: dict[str, Any], summary: bool = False) -> str:
    out = io.StringIO()
    story_text.show(plain, Console(file=out, width=100), summary=summary)
    return out.getvalue()


def test_a_verdict_is_shown_whole_with_no_blanks_at_the_ends_of_lines() -> None:
    lines = shown(story(state="stuck", verdicts=[VERDICT]), summary=True).splitlines()
    assert lines[1] == "cause     generator_blocked (certain)  loader.py:57"
    for part in (
        "Your input code has not given a batch.",
        "· nothing has moved for 86 s",
        "give it a timeout",
        "more: unstall explain",
    ):
        assert any(part in line for line in lines)
    assert [line for line in lines if line != line.rstrip()] == []


def test_no_verdict_is_said_in_words() -> None:
    assert "nothing wrong in what could be seen" in shown(story())
    assert "nothing wrong in what could be seen (steps, CPU)" in shown(story(seen=["steps", "CPU"]))
    assert "cannot tell: no training step was seen" in shown(story(outcome="unknown", reason="no training step was seen"))
    assert "cannot tell why it failed" in shown(story(state="failed"))
    error = {"kind": "KeyError", "message": "'image'", "where": "data.py:12"}
    said = shown(story(state="failed", failure=error))
    assert "cannot tell why it failed: KeyError: 'image', at data.py:12" in " ".join(said.split())


def test_the_end_of_a_training_of_ours_that_is_known_is_its_verdict() -> None:
    unseen = [{"missing": "samples of the weights", "fix": ""}]
    refused = {"kind": "unstall.base.errors.InvalidInputError", "message": "validation: no class", "where": None}
    said = shown(story(state="failed", failure=refused, unknown=unseen))
    assert "verdict   refused: validation: no class" in said and "not seen" not in said
    of_others = {**refused, "kind": "shop.errors.InvalidInputError"}
    assert "cannot tell why it failed" in shown(story(state="failed", failure=of_others))
    repair_failed = {"cause": "loss_diverged", "happened": "The loss rose for good."}
    assert "verdict   loss_diverged: The loss rose for good." in shown(story(state="failed", repair_failed=repair_failed))


def test_the_path_of_the_page_can_be_copied_however_long_it_is() -> None:
    path = "/home/somebody/" + "a-long-way/" * 12 + "report.html"
    assert f"report    {path}" in shown(story(report=path), summary=True).splitlines()


def test_a_program_that_was_left_by_its_user_ended_for_no_cause_to_be_found() -> None:
    ended = {"exit_code": None, "signal": 2, "stopped_by_unstall": False}
    lines = shown(story(state="interrupted", ended=ended, unknown=[NO_FIX])).splitlines()
    assert lines[0].startswith("stopped   by Ctrl-C (SIGINT) after")
    assert lines[1:] == ["verdict   nothing wrong in what could be seen (steps)"]


def test_what_the_user_can_let_us_see_is_always_told() -> None:
    for result in (story(unknown=[FIX]), story(unknown=[FIX], state="stuck", verdicts=[VERDICT])):
        assert "the permission to read stacks: run it with sudo" in shown(result)


def test_what_nobody_can_help_is_told_only_where_something_is_unexplained() -> None:
    assert "batches that pass" not in shown(story(unknown=[NO_FIX]))
    assert "batches that pass" in shown(story(unknown=[NO_FIX], state="failed"))


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3600, "1 h 0 min"), (86_461, "24 h 1 min")]
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"), [(512, "512 B"), (1536 * 1024, "1.5 MiB"), (200 << 20, "200 MiB"), (24 << 30, "24 GiB")]
)
def test_sizes_are_said_in_their_unit(count: int, words: str) -> None:
    assert format_size(count) == words


def test_json_has_no_numbers_that_json_does_not_know(tmp_path: Path) -> None:
    write({"loss": math.nan, "more": [math.inf, 1.5]}, str(tmp_path / "story.json"))
    assert json.loads((tmp_path / "story.json").read_text()) == {"loss": None, "more": [None, 1.5]}


def test_trying_a_json_target_leaves_no_trace(tmp_path: Path) -> None:
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    old.write_text("kept")
    refuse_unwritable(str(new))
    refuse_unwritable(str(old))
    refuse_unwritable(None)
    refuse_unwritable("-")
    assert not new.exists()
    assert old.read_text() == "kept"
    with pytest.raises(InvalidInputError, match="Is a directory"):
        refuse_unwritable(str(tmp_path))


def test_codes_in_what_a_program_printed_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    link = "\x1b]8;;http://x\x1b\\shapes\x1b]8;;\x07"
    claim = f"\x1b[1mit said\x1b[0m {link} \x9b31mred\x1b[?25l \x1b(Bend\x08\x07"
    hostile = {
        **VERDICT,
        "summary": claim,
        "where": "\x1b[2Ja.py:1",
        "evidence": [{"claim": claim}],
        "remedies": [{"action": claim}],
    }
    story_text.show(story(state="failed", verdicts=[hostile], run="\x1b[1ma-run"), create_console(), summary=True)
    printed = capsys.readouterr().out
    assert printed.count("it said shapes red end\n") == 3 and "a.py:1" in printed and "a-run" in printed
    assert [character for character in printed if not character.isprintable() and character != "\n"] == []


def test_a_table_with_codes_in_its_cells_stays_straight(capsys: pytest.CaptureFixture[str]) -> None:
    table = create_grid()
    for cell in ("\x1b[31mred\x1b[0m", "red"):
        table.add_row(cell, "end")
    print_clean(create_console(), table)
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_colours_of_our_own_stay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    create_console().print("red", style="red")
    assert capsys.readouterr().out == "\x1b[31mred\x1b[0m\n"


SPEED = {
    "step_s": 20.0, "steps": 9, "compute_fraction": 0.98, "input_fraction": 0.02, "epoch_s": 800.0, "run_s": 32_000.0, "left_s": 30_000.0,
    "faster_without_waiting": 1.02, "cores_used": 1.96, "cores_usable": 2.0, "cores_queued": 0.1, "accelerator": "none",
}  # fmt: skip


def test_a_run_that_is_slow_and_healthy_says_how_slow_and_why() -> None:
    assert story_text.describe_speed(story(speed=SPEED)) == [
        "a step takes 20.0 s, 98 % of it computing; the program keeps 2.0 of 2 cores busy",
        "no GPU is used: there is no NVIDIA GPU in this machine",
        "an epoch takes 13 min, the whole run 8.89 h, 8.33 h of it to go",
    ]


def test_a_step_that_waits_says_what_it_would_be_without() -> None:
    waiting = {**SPEED, "compute_fraction": 0.4, "input_fraction": 0.6, "faster_without_waiting": 2.5, "cores_queued": 3.0}
    lines = story_text.describe_speed(story(speed=waiting, ended={"exit_code": 0, "signal": None, "stopped_by_unstall": False}))
    assert "the machine is busy: 3.0 threads of the program wait for a free core" in lines
    assert "without the wait for input it would be 2.5 times as fast" in lines
    assert lines[-1] == "an epoch takes 13 min, the whole run 8.89 h"


@pytest.mark.parametrize(
    "changed", [{"verdicts": [VERDICT]}, {"speed": {**SPEED, "step_s": 0.2, "run_s": 60.0}}, {"speed": None}]
)
def test_a_quick_run_and_one_with_a_verdict_need_no_speed(changed: dict[str, Any]) -> None:
    assert story_text.describe_speed(story(**{"speed": SPEED, **changed})) == []
