"""eager_execution: steps that are Python between small operations, and eager steps that are not worth the word."""

from typing import Any

from tests.diagnosis.builders import FOLDER, journal, started, steps
from tests.diagnosis.probe_fact_builders import fit, inside, seen
from unstall.diagnosis.causes import eager_execution
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown, Verdict


def examined(profiles: int = 2, each_s: float = 0.12, **facts: Any) -> Verdict:
    usual: dict[str, Any] = {
        "why": "run_eagerly", "where": f"{FOLDER}/train.py:59", "step": 12, "step_s": 0.3, "framework_s": 0.24, "kernel_s": 0.05,
        "user_s": 0.01, "operations": 1800,
    }  # fmt: skip
    rows = [seen("eager", 5 + number, **{**usual, **facts}) for number in range(profiles)]
    return eager_execution.examine(journal(started(), inside(), fit(), steps(1, 200, at=30, each_s=each_s), *rows))


def test_found_where_compile_was_told_so() -> None:
    verdict = examined()
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:59"
    assert "run_eagerly=True" in verdict.summary
    assert "80 %" in verdict.summary


def test_found_in_a_loop_of_ones_own_with_thousands_of_operations() -> None:
    verdict = examined(why="own loop", operations=3300)
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "@tf.function" in verdict.actions[0]


def test_clear_for_an_eager_loop_of_a_small_model() -> None:
    assert isinstance(examined(why="own loop", operations=190), Clear)


def test_clear_when_the_operations_take_the_time() -> None:
    assert isinstance(examined(framework_s=0.03, kernel_s=0.26), Clear)


def test_clear_when_a_step_is_short_or_little_is_lost() -> None:
    assert isinstance(examined(each_s=0.003), Clear)
    assert isinstance(examined(each_s=0.02), Clear)  # 4 s in all


def test_clear_when_steps_are_compiled() -> None:
    assert isinstance(examined(profiles=0), Clear)


def test_unknown_after_one_profile_and_from_outside() -> None:
    assert isinstance(examined(profiles=1), Unknown)
    assert isinstance(eager_execution.examine(journal(started())), Unknown)
