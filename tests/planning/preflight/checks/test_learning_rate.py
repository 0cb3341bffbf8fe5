"""A rate at which the loss falls, and rates that are wrong by far."""

from __future__ import annotations

import math

from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, CheckWarning
from unstall.planning.preflight.checks.learning_rate import judge

FALLS = [8.0, 8.1, 7.9, 7.5, 7.0, 6.8, 6.5, 6.2, 6.0, 5.9, 5.8, 5.7]
STANDS = [8.0, 8.1, 7.9] * 4
RISES = [8.0, 8.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0]
EXPLODES = [8.0, 8.0, 8.0, 50.0, 500.0, *[math.inf] * 7]
BROKEN = [math.inf] * 12


def found(here: list[float], lower: list[float] = STANDS, higher: list[float] = FALLS, at_first: float = 8.0) -> CheckResult:
    return judge(0.01, at_first, here, lower, higher, 100.0)


def test_a_falling_loss_fits_whatever_the_other_rates_do() -> None:
    for other in (FALLS, STANDS, EXPLODES):
        assert isinstance(found(FALLS, other, other), CheckOk)


def test_an_exploding_loss_refuses_with_a_lower_rate() -> None:
    answer = found(EXPLODES, FALLS, BROKEN)
    assert isinstance(answer, CheckError) and "too high" in answer.reason and answer.fix.startswith("--learning-rate 0.001")


def test_a_loss_that_explodes_with_the_first_update_refuses_too() -> None:
    assert isinstance(found([8.0, *[1e6] * 11], FALLS, BROKEN), CheckError)


def test_a_rising_loss_warns() -> None:
    assert isinstance(found(RISES), CheckWarning)


def test_a_tenth_is_named_only_where_it_does_not_rise() -> None:
    high, far_too_high = found(EXPLODES, STANDS, BROKEN), found(EXPLODES, RISES, BROKEN)
    assert isinstance(high, CheckError) and high.fix.startswith("--learning-rate 0.001")
    assert (
        isinstance(far_too_high, CheckError)
        and "--learning-rate" not in far_too_high.fix
        and "unstall lr-find" in far_too_high.fix
    )


def test_a_loss_that_stands_at_a_rate_far_below_that_of_the_recipe_warns() -> None:
    answer = judge(1e-7, 8.0, STANDS, STANDS, STANDS, 100.0, usual=0.003)
    assert (
        isinstance(answer, CheckWarning)
        and answer.fix.startswith("--learning-rate 0.003")
        and "recipe has 0.003" in answer.reason
    )
    assert isinstance(
        judge(0.001, 8.0, STANDS, STANDS, STANDS, 100.0, usual=0.003), CheckOk
    )  # fine weights may have nothing to learn


def test_a_loss_that_stands_where_ten_times_the_rate_falls_warns_with_a_higher_one() -> None:
    answer = found(STANDS)
    assert isinstance(answer, CheckWarning) and answer.fix.startswith("--learning-rate 0.1")


def test_a_loss_that_stands_at_every_rate_is_no_matter_of_the_rate() -> None:
    assert isinstance(found(STANDS, STANDS, STANDS), CheckOk)
    assert isinstance(found(STANDS, STANDS, EXPLODES), CheckOk)


def test_a_loss_that_is_never_finite_is_no_matter_of_the_rate() -> None:
    answer = found(BROKEN, BROKEN, BROKEN, math.inf)
    assert isinstance(answer, CheckError) and "does not help" in answer.fix
