"""The same question is asked once; another version of anything that matters asks again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unstall.config.settings import Settings
from unstall.planning.memory import client
from unstall.planning.memory.client import PlannerClient
from unstall.planning.memory.messages import Answer, Layer, Question, create_question

ANSWER = Answer(
    need=10, weights=1, gradients=2, optimizer=3, input=1, activations=3, state=4, layers=(Layer("conv", "Conv", (2, 8), 1, 64),)
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def asked(**changes: object) -> Question:
    return create_question(Settings(**changes), 6, "training", "jax", "compiled", {})  # type: ignore[arg-type]


def test_an_answer_comes_back_as_it_was() -> None:
    assert client.recall_answer(asked()) is None
    client.remember_answer(asked(), ANSWER)
    assert client.recall_answer(asked()) == ANSWER


def test_what_is_remembered_is_not_asked() -> None:
    client.remember_answer(asked(), ANSWER)
    with PlannerClient(before=lambda each: pytest.fail(f"asked {each}")) as planner:
        assert planner(asked()) == ANSWER and planner.asked == 0


@pytest.mark.parametrize("change", [{"batch_size": 8}, {"precision": "bfloat16"}, {"remat": True}, {"optimizer": "adamw"}])
def test_what_the_memory_depends_on_makes_another_question(change: dict[str, object]) -> None:
    client.remember_answer(asked(), ANSWER)
    assert client.recall_answer(asked(**change)) is None


@pytest.mark.parametrize(
    "change", [{"epochs": 3}, {"learning_rate": 0.5}, {"clip_norm": 3.0}, {"seed": 7}, {"data": "elsewhere"}]
)
def test_what_it_does_not_depend_on_does_not(change: dict[str, object]) -> None:
    client.remember_answer(asked(), ANSWER)
    assert client.recall_answer(asked(**change)) == ANSWER


def test_another_version_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    client.remember_answer(asked(), ANSWER)
    monkeypatch.setattr(client, "list_versions", lambda: {"jax": "99.0"})
    assert client.recall_answer(asked()) is None


def test_other_code_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    client.remember_answer(asked(), ANSWER)
    monkeypatch.setattr(client, "compute_source_digest", lambda: "of other code")
    assert client.recall_answer(asked()) is None


def test_a_card_is_part_of_the_question() -> None:
    client.remember_answer(asked(), ANSWER)
    assert client.recall_answer(replace(asked(), card={"cores": 1})) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"need": 1}'])
def test_a_file_that_is_broken_is_a_question_not_yet_asked(text: str, own_cache: Path) -> None:
    client.remember_answer(asked(), ANSWER)
    (path,) = (own_cache / "unstall" / "memory").iterdir()
    path.write_text(text)
    assert client.recall_answer(asked()) is None


def test_a_folder_that_cannot_be_written_forgets(own_cache: Path) -> None:
    (own_cache / "unstall").write_text("a file where the folder should be")
    client.remember_answer(asked(), ANSWER)
    assert client.recall_answer(asked()) is None
