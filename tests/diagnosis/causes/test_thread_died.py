"""thread_died: the training waits for the work of a thread that an error ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.builders import T0, kernel, lib, main, py, sleeper, source, stuck, thread, three
from tests.diagnosis.real_programs import ended
from unstall.diagnosis.causes import generator_blocked, lock_deadlock, thread_died
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ErrorRaised, SampleFailed, StallEnded
from unstall.report.story.run import build_story
from unstall.report.terminal.story import explain_no_verdict, format_summary

STDLIB = "/usr/lib/python3.11"
ADAPTER = lib("keras/src/trainers/data_adapters/generator_data_adapter.py", "get_iterator")
WAITS = main(
    py(f"{STDLIB}/threading.py", "wait"), py(f"{STDLIB}/queue.py", "get"), py("data.py", "batches", 25), ADAPTER,
    py("train.py", "<module>", 31),
)  # fmt: skip
LINE = source("data.py", 25, text="yield ready.get()", is_generator=True)
ASLEEP = kernel(sleeper(1), sleeper(2), at=109)


def died(at: float = 99.0, names: tuple[str, ...] = ("ready", "put"), thread: str = "Loader-1") -> ErrorRaised:
    """The last progress was in second 100."""
    frames = [py("loader.py", "load", 18), py(f"{STDLIB}/threading.py", "run")]
    return ErrorRaised(
        at=T0 + at, kind="ValueError", message="row 40 has no label", frames=frames, thread=thread, names=list(names)
    )


def test_found_where_the_thread_used_what_is_waited_for() -> None:
    journal = stuck(died(), *three(WAITS), LINE, ASLEEP)
    verdict = thread_died.examine(journal)
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "loader.py:18"
    assert verdict.summary.startswith(
        "Thread Loader-1 ended with ValueError: row 40 has no label, at loader.py:18, 1 s before the last progress."
    )
    root = diagnose(journal).root
    assert root is not None
    assert root.cause == "thread_died"
    assert "generator_blocked" in root.followed_by


def test_likely_where_another_thread_may_do_the_same_work() -> None:
    other = thread(py(f"{STDLIB}/socket.py", "readinto"), py("loader.py", "load", 12), name="Loader-2", id=2)
    verdict = thread_died.examine(stuck(died(), *three(WAITS, other), LINE, ASLEEP))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY


def test_a_thread_that_did_something_else_is_told_and_not_blamed() -> None:
    """One that sent numbers somewhere: its death is evidence beside the stall, with its own line."""
    journal = stuck(died(names=("metrics", "send"), thread="metrics"), *three(WAITS), LINE, ASLEEP)
    assert isinstance(thread_died.examine(journal), Clear)
    verdict = generator_blocked.examine(journal)
    assert isinstance(verdict, Found)
    assert any(
        "thread metrics ended with ValueError: row 40 has no label, at loader.py:18" in each.claim for each in verdict.evidence
    )
    assert verdict.where == "data.py:25"


def test_a_thread_that_died_long_before_or_beside_another_wait_is_not_mentioned() -> None:
    long_ago = stuck(died(at=30.0), *three(WAITS), LINE, ASLEEP)
    assert isinstance(thread_died.examine(long_ago), Clear)
    reads = main(py(f"{STDLIB}/socket.py", "readinto"), py("data.py", "batches", 25), ADAPTER, py("train.py", "<module>", 31))
    network = stuck(died(), *three(reads), source("data.py", 25, text="rows = connection.read()"), ASLEEP)
    assert isinstance(thread_died.examine(network), Clear)
    for journal in (long_ago, network):
        verdict = generator_blocked.examine(journal)
        assert isinstance(verdict, Found)
        assert not any("Loader-1" in each.claim for each in verdict.evidence)


def test_clear_where_the_training_goes_on_without_the_thread() -> None:
    journal = stuck(died(), *three(WAITS), LINE, ASLEEP, StallEnded(at=T0 + 111.5))
    assert isinstance(thread_died.examine(journal), Clear)
    story = build_story(journal, diagnose(journal))
    assert story["dead_threads"] == []
    assert [words.partition(", after")[0] for words in story["failed_threads"]] == [
        "Loader-1 ended with ValueError: row 40 has no label, at loader.py:18"
    ]
    assert ("threads", f"thread {story['failed_threads'][0]}") in format_summary(story)
    assert build_story(stuck(died(), *three(WAITS), LINE, ASLEEP), diagnose(journal))["failed_threads"] == []


def test_told_where_a_lock_was_left_and_where_no_cause_was_found() -> None:
    takes = main(py("data.py", "batches", 25), ADAPTER, py("train.py", "<module>", 31))
    left = lock_deadlock.examine(stuck(died(), *three(takes), source("data.py", 25, awaits=["lock"]), ASLEEP))
    assert isinstance(left, Found)
    assert any("thread Loader-1 ended with ValueError" in each.claim for each in left.evidence)
    odd = stuck(died(), *three(main(py("train.py", "<module>", 31))), ASLEEP)
    story: dict[str, Any] = build_story(odd, diagnose(odd))
    assert story["verdicts"] == []
    assert explain_no_verdict(story).startswith("cannot tell why it is stuck: thread Loader-1 ended with ValueError: row 40")


def test_unknown_without_stacks() -> None:
    refused = SampleFailed(at=three(WAITS)[0].at, signal="stacks", missing="the permission", fix="sudo")
    assert thread_died.examine(stuck(died(), refused)) == Unknown("the permission", "sudo")


@pytest.mark.torch
def test_said_of_a_real_program(tmp_path: Path) -> None:
    program = """\
import queue
import threading

import torch

ready = queue.Queue(4)


def load():
    for number in range(3):
        ready.put(number)
    raise ValueError("row 3 has no label")


threading.Thread(target=load, name="Loader-1", daemon=True).start()
for _ in range(10):
    torch.zeros(3) + ready.get()
"""
    story = ended(tmp_path, program, options=("--on-stall", "stop"))
    verdict = story["verdicts"][0]
    assert (verdict["cause"], verdict["where"]) == ("thread_died", "train.py:12")
    assert "Thread Loader-1 ended with ValueError: row 3 has no label, at train.py:12" in verdict["summary"]
