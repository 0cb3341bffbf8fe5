"""A program that ends itself by sys.exit ends as it would alone, and the story says what it was called with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.programs import run_bare, run_watched, write
from unstall.report.story.outcome import describe_own_exit

# A signal that is sent is a reason for the probe to begin.
PROGRAM = """
import os, sys
os.kill(os.getpid(), 0)

class History:
    def __str__(self):
        return "what was returned"

sys.exit({given})
"""


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ("History()", 1, "exit code 1, at program.py:9: sys.exit was called with a __main__.History, which counts as a failure"),
        ("[0]", 1, "exit code 1, at program.py:9: sys.exit was called with a list, which counts as a failure"),
        ("'no data'", 1, "exit code 1, at program.py:9: no data"),
        ("3", 3, "exit code 3, at program.py:9"),
    ],
)
def test_what_sys_exit_was_called_with_is_told(given: str, code: int, said: str, tmp_path: Path, own_home: Path) -> None:
    program, story = write(tmp_path, PROGRAM.format(given=given)), tmp_path / "story.json"
    watched = run_watched(program, options=("--quiet", "--json", str(story)))
    assert watched == run_bare(program) and watched.code == code
    assert (
        describe_own_exit(json.loads(story.read_text()))
        .removeprefix("the program ended itself with ")
        .replace(f"{tmp_path}/", "")
        == said
    )


@pytest.mark.parametrize("given", ["None", "0", "False"])
def test_of_a_success_nothing_is_told(given: str, tmp_path: Path, own_home: Path) -> None:
    program, story = write(tmp_path, PROGRAM.format(given=given)), tmp_path / "story.json"
    assert run_watched(program, options=("--quiet", "--json", str(story))).code == 0
    assert json.loads(story.read_text())["own_exit"] is None


LOOP = """
import math, os, sys
os.kill(os.getpid(), 0)

def train():
    best_loss, epoch_loss, min_val_loss = math.inf, 0.5, math.nan
    loss_value = {value}
    if not math.isfinite(loss_value):
        sys.exit(1)
    sys.exit(2)

train()
"""


@pytest.mark.parametrize(
    ("value", "noted"), [("math.nan", ["loss_value = nan"]), ("math.inf", ["loss_value = inf"]), ("1.5", [])]
)
def test_a_loss_that_ended_the_program_is_noted(value: str, noted: list[str], tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, LOOP.format(value=value))
    assert run_watched(program, options=("--quiet",)).code == (1 if noted else 2)
    lines = [line for path in own_home.rglob("events-probe-*.jsonl") for line in path.read_text().splitlines()]
    exits = [json.loads(line) for line in lines if '"ExitCalled"' in line]
    assert [event.get("not_finite") or [] for event in exits] == [noted]
