"""When a training must stop, and above all when it must not: a false alarm costs somebody a run."""

from __future__ import annotations

import json

import numpy as np
import pytest

from unstall.training.loop.loss_monitor import MAX_IN_A_ROW, SUSTAINED_STEPS, Divergence, SkippedUpdates

# --- updates that are not applied ---


def after(*applied: bool) -> SkippedUpdates:
    updates = SkippedUpdates()
    for is_applied in applied:
        updates.see(is_applied)
    return updates


def test_five_in_a_row_are_too_many() -> None:
    assert not after(*[False] * (MAX_IN_A_ROW - 1)).has_failed
    assert after(*[False] * MAX_IN_A_ROW).has_failed


def test_one_that_is_applied_begins_the_count_anew() -> None:
    updates = after(*[False] * 4, True, *[False] * 4)
    assert updates.in_a_row == 4 and not updates.has_failed


def test_more_than_a_tenth_of_the_last_200_are_too_many() -> None:
    every_tenth = [step % 10 != 0 for step in range(400)]
    every_eighth = [step % 8 != 0 for step in range(400)]
    assert not after(*every_tenth).has_failed
    assert after(*every_eighth).has_failed


# --- a loss that rises for good ---


def first_divergence(losses: np.ndarray, warmup_steps: int = 0) -> int | None:
    divergence = Divergence(warmup_steps)
    for step, loss in enumerate(losses.tolist()):
        if divergence.see(step, loss) is not None:
            return step
    return None


def falling(steps: int, noise: float, seed: int) -> np.ndarray:
    """As detectors' losses fall, with the noise of small batches: now and then one of several times the size."""
    random = np.random.default_rng(seed)
    curve = 0.3 + 2.0 * np.exp(-np.arange(steps) / 400)
    return curve * random.lognormal(0.0, noise, steps)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [0.05, 0.3, 0.8])
def test_a_healthy_loss_is_no_divergence_however_noisy(seed: int, noise: float) -> None:
    assert first_divergence(falling(1500, noise, seed)) is None


def test_single_bad_batches_are_no_divergence() -> None:
    losses = falling(2000, 0.2, 0)
    losses[::50] *= 100
    losses[700:708] *= 1000
    assert first_divergence(losses) is None


def test_a_loss_that_rises_slowly_as_in_warm_up_is_no_divergence() -> None:
    losses = falling(1000, 0.2, 0)
    losses[300:500] *= 2.5
    assert first_divergence(losses, warmup_steps=600) is None


@pytest.mark.parametrize("factor", [4.0, 50.0])
def test_a_loss_that_rises_for_good_is_one_once_it_has_stayed_high(factor: float) -> None:
    losses = falling(1500, 0.2, 0)
    losses[1000:] *= factor
    found = first_divergence(losses)
    assert found is not None and 1000 + SUSTAINED_STEPS <= found <= 1000 + SUSTAINED_STEPS + 20


@pytest.mark.parametrize("rises", [1.2, 2.0, 10.0])
def test_a_loss_that_becomes_far_worse_than_at_first_is_one_within_a_short_run(rises: float) -> None:
    losses = 45.0 * np.minimum(rises ** np.arange(66), 1e30)
    assert first_divergence(losses) is not None
    divergence = Divergence(0)
    for step, loss in enumerate(losses[:12]):
        divergence.see(step, float(loss))
    at_end = divergence.at_the_end(12)
    assert (at_end is not None) == (rises == 10.0)  # of the others it cannot be told yet
    assert at_end is None or (at_end.usual_loss == 45.0 and at_end.loss > 1e5)


def test_at_the_end_a_loss_that_is_high_by_chance_is_no_divergence() -> None:
    divergence = Divergence(0)
    for step, loss in enumerate([*falling(300, 0.5, 0), *falling(15, 0.5, 1) * 4, *falling(8, 0.5, 2) * 1e6]):
        divergence.see(step, float(loss))
    assert divergence.at_the_end(323) is None


@pytest.mark.parametrize("steps", [6, 19, 60])
def test_at_the_end_a_first_batch_without_objects_is_no_measure(steps: int) -> None:
    divergence = Divergence(0)
    for step, loss in enumerate([1e-6, *falling(steps, 0.5, 0)]):
        divergence.see(step, float(loss))
    assert divergence.at_the_end(steps + 1) is None


@pytest.mark.parametrize("seed", range(3))
def test_where_most_batches_have_nothing_to_find_nothing_is_concluded(seed: int) -> None:
    random = np.random.default_rng(seed)
    assert first_divergence(np.where(random.random(3000) < 0.5, 0.0, random.lognormal(0, 1, 3000))) is None


@pytest.mark.parametrize("after", [20, 25, 60])
def test_a_loss_far_above_that_of_the_first_steps_is_one_even_in_warm_up(after: int) -> None:
    losses = np.concatenate([np.full(after, 40.0), np.full(300, 260.0)])
    found = first_divergence(losses, warmup_steps=500)
    assert found is not None and found <= after + SUSTAINED_STEPS + 20


def test_it_is_told_since_when_and_against_what() -> None:
    divergence, result = Divergence(0), None
    for step in range(600):
        result = result or divergence.see(step, 1.0 if step < 400 else 9.0)
        assert divergence.is_suspected == (step >= 409), step
    assert result is not None
    assert (result.loss, result.usual_loss) == (9.0, 1.0) and abs(result.since_step - 400) <= 2


# --- by and by ---


def rising(steps: int, since: int, per_step: float, noise: float, seed: int = 0) -> np.ndarray:
    """A loss that has come down, and then grows by so much of itself with every step."""
    grown = np.exp(np.maximum(0, np.arange(steps) - since) * per_step)
    return falling(steps, noise, seed) * grown


@pytest.mark.parametrize("noise", [0.05, 0.3])
@pytest.mark.parametrize("per_step", [0.0005, 0.001, 0.002])
def test_a_loss_that_rises_a_little_with_every_step_is_one_when_it_is_twice_the_least(per_step: float, noise: float) -> None:
    divergence, result = Divergence(0), None
    losses = rising(6000, since=2500, per_step=per_step, noise=noise)
    for step, loss in enumerate(losses.tolist()):
        result = result or divergence.see(step, loss)
    assert result is not None
    assert result.loss > 2 * result.usual_loss
    assert 2500 <= result.since_step <= 2500 + np.log(1.6) / per_step, "from before most of the rise, and no earlier than it"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.3, 0.8])
def test_a_loss_that_no_longer_falls_is_not_one_that_rises(seed: int, noise: float) -> None:
    divergence = Divergence(0)
    for step, loss in enumerate(falling(8000, noise, seed).tolist()):
        assert divergence.see(step, loss) is None
        assert noise > 0.3 or step < 200 or not (divergence.is_suspected or divergence.is_rising), step


def test_a_loss_that_rises_with_the_rate_is_no_divergence() -> None:
    """As when a run that is over is given more epochs, and its rate comes up again."""
    divergence = Divergence(0)
    for step in range(4000):
        is_extended = step >= 2000
        loss, rate = (0.5, 1e-3) if is_extended else (0.3, 1e-5)
        assert divergence.see(step, loss, rate) is None
    assert not divergence.is_rising


def test_a_rise_that_ends_is_forgotten() -> None:
    losses = falling(2000, 0.1, 0)
    losses[1000:1090] *= 20
    assert first_divergence(losses) is None


@pytest.mark.parametrize("at", [10, 430, 480])
def test_a_run_that_is_resumed_judges_as_one_that_never_stopped(at: int) -> None:
    losses = [1.0] * 400 + [9.0] * 200
    whole, first, second = Divergence(0), Divergence(0), Divergence(0)
    expected = [whole.see(step, loss) for step, loss in enumerate(losses)]
    seen = [first.see(step, losses[step]) for step in range(at)]
    second.restore(json.loads(json.dumps(first.as_plain())))
    seen += [second.see(step, losses[step]) for step in range(at, len(losses))]
    assert seen == expected

    skipped, resumed = after(True, False, False), SkippedUpdates()
    resumed.restore(json.loads(json.dumps(skipped.as_plain())))
    assert resumed.as_plain() == skipped.as_plain() and resumed.in_a_row == 2
