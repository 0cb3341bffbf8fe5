"""Back to good weights, and on at a lower rate; not for ever."""

import pytest

from tests.remedies.builders import T0, began, fault, made
from unstall.journal.events import Event, LossDiverged, StepsEnded
from unstall.remedies.lower_learning_rate import plan
from unstall.remedies.plan import Kind, Plan, Verb

ROSE = LossDiverged(at=T0, step=100, loss=40.0, usual_loss=1.2, since_step=70)


def test_after_a_divergence_it_goes_on_from_before_the_loss_rose() -> None:
    planned = plan(fault(Kind.DIVERGED, ROSE, learning_rate=0.01, checkpoints=(20, 60, 90)))
    assert planned is not None
    assert (planned.verb, planned.change, planned.from_step) == (Verb.RESUME, {"learning_rate": 0.003}, 60)
    assert planned.verify.past_step == 100 and planned.verify.loss_below == pytest.approx(
        3.6
    )  # not only a little lower than it was


@pytest.mark.parametrize(("checkpoints", "times", "taken"), [((80, 90), 0, 80), ((80, 90), 1, 0), ((), 0, 0)])
def test_where_no_checkpoint_is_old_enough_the_oldest_is_tried(checkpoints: tuple[int, ...], times: int, taken: int) -> None:
    before = times * (made("lower_learning_rate", Kind.DIVERGED, step=100),)
    planned = plan(fault(Kind.DIVERGED, ROSE, checkpoints=checkpoints, plans=before))
    assert planned is not None
    assert planned.from_step == taken


def losses(*result: float | None) -> list[StepsEnded]:
    """Ten steps each."""
    return [
        StepsEnded(at=T0 + index, first=10 * index, last=10 * index + 9, loss=loss, loss_is_finite=loss is not None)
        for index, loss in enumerate(result)
    ]


def not_finite(*events: Event, times: int = 0) -> Plan:
    before = times * (made("lower_learning_rate", Kind.NOT_FINITE, step=100),)
    planned = plan(fault(Kind.NOT_FINITE, began(), *events, step=100, learning_rate=1.0, checkpoints=(20, 55, 80), plans=before))
    assert planned is not None
    return planned


def test_losses_that_are_not_finite_go_back_to_before_they_rose() -> None:
    planned = not_finite(*losses(5, 4, 3, 3, 3, 3, 60, 900, 1e9, None))
    assert (planned.change, planned.from_step) == ({"learning_rate": 0.3}, 55)
    assert planned.why.endswith("at step 55 on: before the loss rose.")
    assert planned.verify.loss_below == 9.0


def test_losses_that_rose_before_the_oldest_checkpoint_begin_again() -> None:
    assert not_finite(*losses(5, 60, 900, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, None)).from_step == 0


def test_losses_that_were_well_until_they_were_not_finite_leave_the_newest_checkpoint_good() -> None:
    planned = not_finite(*losses(5, 4, 3, 3, 3, 3, 3, 3, 3, 3))
    assert planned.from_step == 80
    assert planned.why.endswith("at step 80 on: before the fault in step 100.")  # the loss has not risen
    assert not_finite().from_step == 80  # nothing was told of them


def test_if_it_comes_again_it_goes_further_back() -> None:
    assert not_finite(*losses(3, 3), times=1).from_step == 20
    assert not_finite(*losses(3, 3), times=2).from_step == 0


def test_at_one_place_it_is_tried_twice_and_in_one_run_three_times() -> None:
    here = made("lower_learning_rate", Kind.DIVERGED, step=100)
    before = [made("lower_learning_rate", Kind.DIVERGED, step=step) for step in (20, 40, 60)]
    assert plan(fault(Kind.DIVERGED, ROSE, plans=(here,))) is not None
    assert plan(fault(Kind.DIVERGED, ROSE, plans=(here, here))) is None
    assert plan(fault(Kind.DIVERGED, ROSE, plans=tuple(before[:2]))) is not None
    assert plan(fault(Kind.DIVERGED, ROSE, plans=tuple(before))) is None
