"""callback_slow: one callback takes a large part of the time, and works or waits meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import T0, journal, kernel, lib, main, py, sleeper, stacks, started, steps
from unstall.diagnosis.causes import callback_slow
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown, Verdict
from unstall.journal.events import CallbacksTimed, Event, Frame

PLACE = "/home/user/project/train.py:20"
HTTP = py("/usr/lib/python3.11/http/client.py", "getresponse", 300)


def row(seconds: float, cpu_s: float, timed: int = 100, longest_s: float | None = None, **more: Any) -> dict[str, Any]:
    usual = {"name": "Draw", "where": PLACE, "hook": "on_train_batch_end"}
    longest = seconds / timed if longest_s is None else longest_s
    return {**usual, "timed": timed, "seconds": seconds, "longest_s": longest, "cpu_s": cpu_s, **more}


def examined(*rows: dict[str, Any], calls: int = 100, of_s: float = 30.0, events: tuple[Event, ...] = ()) -> Verdict:
    timed = CallbacksTimed(at=T0 + 60, seconds=of_s, calls={"on_train_batch_end": calls}, callbacks=list(rows))
    return callback_slow.examine(journal(started(), steps(0, 100, at=59), *events, timed, now=61))


def looks(*inner: Frame, call: str, times: int = 4, active: bool = False) -> tuple[Event, ...]:
    thread = main(
        *inner,
        py("train.py", "Draw.on_train_batch_end", 23),
        lib("keras/src/callbacks/callback_list.py", "on_train_batch_end"),
        active=active,
    )
    samples = [stacks(thread, at=40 + number) for number in range(times)]
    return (*samples, *(kernel(sleeper(call=call), at=40.1 + number) for number in range(times)))


def test_found_where_it_computes_for_most_of_the_time() -> None:
    verdict = examined(row(20.0, cpu_s=19.0))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN and verdict.effect is Effect.SLOWS and verdict.where == PLACE
    assert verdict.summary.startswith(
        "Your callback Draw takes about 67% of the training's time: 0.2 s after each batch, in which it computes."
    )


def test_found_where_stacks_show_what_it_waits_for() -> None:
    verdict = examined(row(15.0, cpu_s=0.2), events=looks(HTTP, call="recvfrom"))
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.LIKELY
    assert "in which it waits for the network" in verdict.summary
    assert any("4 of 4 looks into it found it at train.py:23" in evidence.claim for evidence in verdict.evidence)


def test_found_where_a_crowded_machine_leaves_it_little_of_the_cpu() -> None:
    verdict = examined(row(20.0, cpu_s=5.0), events=looks(call="running", active=True))
    assert isinstance(verdict, Found) and "in which it computes" in verdict.summary


def test_calls_that_could_not_be_timed_count_as_those_that_were() -> None:
    verdict = examined(row(2.0, cpu_s=2.0, timed=10), calls=100)
    assert isinstance(verdict, Found) and "67%" in verdict.summary


def test_a_callback_of_an_installed_package_has_no_line() -> None:
    verdict = examined(row(20.0, cpu_s=19.0, name="TensorBoard", where=None))
    assert isinstance(verdict, Found) and verdict.where is None and verdict.summary.startswith("The callback TensorBoard")


@pytest.mark.parametrize(
    ("why", "plain"),
    [
        ("a part that is small", row(6.0, cpu_s=6.0)),
        ("one call that was long by chance", row(20.0, cpu_s=20.0, longest_s=18.0)),
        ("too few calls", row(20.0, cpu_s=20.0, timed=2)),
    ],
)
def test_clear_for(why: str, plain: dict[str, Any]) -> None:
    assert isinstance(examined(plain), Clear), why


def test_clear_where_little_time_is_lost_in_all() -> None:
    assert isinstance(examined(row(5.0, cpu_s=5.0), of_s=8.0), Clear)


def test_clear_where_it_only_sleeps() -> None:
    assert isinstance(examined(row(20.0, cpu_s=0.1), events=looks(call="clock_nanosleep")), Clear)


def test_clear_where_a_sleep_is_over_and_a_crowded_machine_has_no_core_for_it_yet() -> None:
    assert isinstance(examined(row(20.0, cpu_s=0.1), events=looks(call="running", active=True)), Clear)


def test_clear_where_other_callbacks_wait_and_this_one_sleeps() -> None:
    """What on_epoch_end waits for is no sign of what on_train_batch_end does."""
    other = main(HTTP, py("train.py", "on_epoch_end", 40), lib("keras/src/callbacks/callback_list.py", "on_epoch_end"))
    events = (*(stacks(other, at=40 + number) for number in range(5)), *looks(call="clock_nanosleep"))
    assert isinstance(examined(row(20.0, cpu_s=0.1), events=events), Clear)


def test_clear_where_nothing_was_worth_timing() -> None:
    assert isinstance(callback_slow.examine(journal(started(), steps(0, 100, at=59), now=60)), Clear)


def test_unknown_without_stacks_of_one_that_does_not_work_and_without_a_training() -> None:
    assert isinstance(examined(row(20.0, cpu_s=0.1)), Unknown)
    assert isinstance(callback_slow.examine(journal(started())), Unknown)
