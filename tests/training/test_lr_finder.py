"""What losses at rising rates suggest: on curves whose right answer is known."""

from __future__ import annotations

import math

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstall.training.lr_finder import has_diverged, smooth, space_rates, suggest

RATES = space_rates(1e-6, 10.0, 100)


def learning(best: float, diverges: float) -> list[float]:
    """Falls around `best`, explodes from `diverges` on, and ends there as a range test does."""
    losses: list[float] = []
    for rate in RATES:
        fall = 1 / (1 + math.exp(-3 * math.log10(rate / best)))
        losses.append(8.0 - 5.0 * fall + (rate / diverges) ** 2)
        if has_diverged(losses):
            break
    return losses


def test_rates_rise_by_the_same_factor() -> None:
    assert RATES[0] == pytest.approx(1e-6) and RATES[-1] == pytest.approx(10.0)
    assert RATES[51] / RATES[50] == pytest.approx(RATES[1] / RATES[0])


@pytest.mark.parametrize(("best", "diverges"), [(1e-3, 0.1), (1e-2, 1.0), (1e-4, 1e-2)])
def test_the_suggestion_lies_where_the_loss_falls_and_well_below_divergence(best: float, diverges: float) -> None:
    found = suggest(RATES, learning(best, diverges))
    assert found.learning_rate is not None and best / 5 < found.learning_rate < best * 5
    assert found.diverged_lr is not None and found.learning_rate <= found.diverged_lr / 4
    assert "falls fastest" in found.why and "diverged at" in found.why


def test_noise_of_single_batches_does_not_lead_astray() -> None:
    losses = [loss + 0.4 * math.sin(37.0 * number) for number, loss in enumerate(learning(1e-3, 0.1))]
    found = suggest(RATES, losses)
    assert found.learning_rate is not None and 1e-4 < found.learning_rate < 1e-2


def test_a_loss_that_never_falls_suggests_nothing() -> None:
    found = suggest(RATES, [8.0 + 0.01 * math.sin(number) for number in range(100)])
    assert found.learning_rate is None and "no rate up to 10 learned anything" in found.why


def test_a_loss_that_diverges_at_once_suggests_nothing_but_a_lower_beginning() -> None:
    found = suggest(RATES, [8.0, 9.0, math.inf])
    assert found.learning_rate is None and "begin with a lower rate" in found.why


def test_a_curve_that_has_not_diverged_says_so() -> None:
    losses = [8.0 - 5.0 / (1 + math.exp(-3 * math.log10(rate / 1e-3))) for rate in RATES]
    found = suggest(RATES, losses)
    assert found.diverged_lr is None and "had not diverged at 10" in found.why


def test_divergence_is_for_good_or_not_a_number() -> None:
    assert not has_diverged([])
    assert not has_diverged([8.0] * 20)
    assert not has_diverged([8.0] * 20 + [80.0])  # one batch
    assert has_diverged([8.0] * 20 + [80.0] * 3)
    assert has_diverged([8.0, math.nan])


@hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])  # a busy machine is no fault
@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=40))
def test_smoothing_stays_within_what_it_smooths_and_keeps_the_ends(losses: list[float]) -> None:
    curve = smooth(losses)
    assert len(curve) == len(losses) and (curve[0], curve[-1]) == (losses[0], losses[-1])
    assert all(min(losses) - 1e-9 <= loss <= max(losses) + 1e-9 for loss in curve)
