"""The process that answers: what it refuses, and how it ends, is said in one line. Real processes; they end before a framework starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from unstall.config.settings import Settings
from unstall.planning.memory.client import PlannerClient, PlannerError
from unstall.planning.memory.messages import Question, create_question


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def unknown(model: str) -> Question:
    return create_question(Settings(model=model), None, "training", "torch", "estimated", {})


def test_a_mistake_is_told_and_the_process_answers_on() -> None:
    asked: list[Question] = []
    with PlannerClient(asked.append) as client:
        for model in ("yolo", "detr"):
            with pytest.raises(PlannerError, match=f"There is no detector '{model}'"):
                client(unknown(model))
    assert client.asked == len(asked) == 2


def test_a_process_that_dies_is_told_with_its_last_words_and_the_next_question_has_a_new_one() -> None:
    broken = Question({}, "training", "torch", "estimated")
    with PlannerClient() as client:
        with pytest.raises(PlannerError, match=r"ended without an answer: exit code 1. Its last words: KeyError: 'detector'"):
            client(broken)
        with pytest.raises(PlannerError, match="There is no detector 'yolo'"):
            client(unknown("yolo"))
