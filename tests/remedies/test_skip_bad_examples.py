"""Examples are left out when it is they that are bad, and not the weights."""

from tests.remedies.builders import T0, began, fault
from unstall.journal.events import StepsEnded, UpdateSkipped
from unstall.remedies.plan import Kind, Verb
from unstall.remedies.skip_bad_examples import plan


def skipped(*rows: int, step: int = 10, in_a_row: int = 1, at: float = T0) -> UpdateSkipped:
    return UpdateSkipped(at=at, step=step, what="loss", rows=list(rows), in_a_row=in_a_row)


def test_examples_that_come_back_in_bad_batches_are_left_out() -> None:
    events = (skipped(1, 2, 3), skipped(7, 2, 9), skipped(4, 5, 2))
    planned = plan(fault(Kind.NOT_FINITE, began(), *events))
    assert planned is not None
    assert (planned.verb, planned.change) == (Verb.SKIP, {"exclude_examples": [2]})
    assert planned.why == "The same examples are in several of the batches that are not finite: 2 are left out."


def test_those_left_out_before_stay_so() -> None:
    planned = plan(fault(Kind.NOT_FINITE, began(), skipped(1, 2), skipped(2, 3), exclude_examples=(500,)))
    assert planned is not None
    assert planned.change == {"exclude_examples": [2, 500]}
    assert planned.undo == {"exclude_examples": [500]}


def test_bad_batches_that_stand_alone_among_good_ones_are_left_out_whole() -> None:
    planned = plan(fault(Kind.NOT_FINITE, began(), skipped(1, 2), skipped(5, 6)))
    assert planned is not None
    assert planned.change == {"exclude_examples": [1, 2, 5, 6]}
    assert planned.why.startswith("The batches that are not finite stand alone among good ones")


def test_bad_batches_one_after_the_other_are_not_the_examples_doing() -> None:
    events = [skipped(10 * number, 10 * number + 1, in_a_row=number + 1) for number in range(5)]
    assert plan(fault(Kind.NOT_FINITE, began(), *events)) is None


def test_bad_batches_after_the_loss_has_risen_are_not_the_examples_doing() -> None:
    losses = [StepsEnded(at=T0 + at, first=10 * at, last=10 * at + 9, loss=10.0**at, loss_is_finite=True) for at in range(6)]
    assert plan(fault(Kind.NOT_FINITE, began(), *losses, skipped(1, 2, step=58), skipped(5, 6, step=60), step=60)) is None


def test_nor_are_examples_that_come_back_when_any_batch_overflows() -> None:
    losses = [StepsEnded(at=T0 + at, first=10 * at, last=10 * at + 9, loss=10.0**at, loss_is_finite=True) for at in range(6)]
    again = (skipped(1, 2, step=58), skipped(1, 6, step=60))
    assert plan(fault(Kind.NOT_FINITE, began(), *losses, *again, step=60)) is None
    assert plan(fault(Kind.NOT_FINITE, began(), losses[0], *again, step=60)) is not None


def test_no_more_than_a_few_in_a_hundred_are_left_out() -> None:
    assert plan(fault(Kind.NOT_FINITE, began(examples=20), skipped(1, 2), skipped(1, 2))) is None


def test_an_empty_place_of_a_batch_is_no_example() -> None:
    assert plan(fault(Kind.NOT_FINITE, began(), skipped(-1, in_a_row=3), skipped(-1))) is None
