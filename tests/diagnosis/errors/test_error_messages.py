"""messages: of what an error says, the innermost sentence. The texts are those that real programs ended with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstall.diagnosis.errors.error_messages import MAX_LETTERS, find_innermost, find_named_places
from unstall.diagnosis.errors.fatal_error import find_user_line
from unstall.journal.events import ErrorRaised

RECORDED = json.loads((Path(__file__).parent / "messages.json").read_text(encoding="utf-8"))
NOISE = (
    "in user code",
    "{{",
    "Graph execution error",
    "Detected at node",
    "[Op:",
    "Traceback",
    "\n",
    "\x1b",
    "Arguments received",
)


@pytest.mark.parametrize("name", RECORDED)
def test_the_innermost_sentence_comes_first(name: str) -> None:
    error = RECORDED[name]
    said = find_innermost(error["kind"], error["message"])
    assert said.line == error["says"]
    assert [noise for noise in NOISE if noise in said.line] == []


def test_a_plain_message_is_left_as_it_is() -> None:
    assert find_innermost("KeyError", "'image'").line == "KeyError: 'image'"
    assert find_innermost("ValueError", "").line == "ValueError"
    assert find_innermost("shop.errors.NoStock", "item 7: none left").line == "NoStock: item 7: none left"
    assert find_innermost("ValueError", "in user code:").line == "ValueError: in user code:"
    assert find_innermost("OSError", "could not read: see below\nsecond line").message == "could not read: see below"
    assert len(find_innermost("ValueError", "x" * 5000).message) == MAX_LETTERS + 1


def test_the_line_that_a_quoted_traceback_names() -> None:
    assert find_named_places(RECORDED["tensorflow: generator in fit"]["message"])[-1] == ("/home/user/project/train.py", 59)
    assert find_named_places("no line at all") == []


def test_a_path_that_xla_writes_without_its_first_slash_is_the_file_of_the_program() -> None:
    error = RECORDED["tensorflow: xla without a kernel"]
    raised = ErrorRaised(at=0.0, kind=error["kind"], message=error["message"], frames=[], fatal=True)
    assert find_user_line(raised, "/home/me") == "train.py:4"
    assert find_user_line(raised, "/home/you") == "home/me/train.py:4"  # of another folder nothing is known: as it was written
