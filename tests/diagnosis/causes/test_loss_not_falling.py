"""loss_not_falling: a loss that stands where guessing puts it, and losses that merely look so."""

import math

from tests.diagnosis.builders import journal, started, steps
from tests.diagnosis.learning_curve_builders import array, batch
from tests.diagnosis.probe_fact_builders import fit, inside, seen, weights
from unstall.diagnosis.causes import loss_not_falling
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event, StepsEnded

LEVEL = math.log(6)
NOISE = (0.003, -0.002, 0.001, -0.003, 0.002, -0.001)


def guessing(level: float = LEVEL) -> Event:
    return seen("guessing", 1, loss="classes", level=level, labels=20000, classes=6)


def losses(*values: float) -> list[StepsEnded]:
    groups = [
        steps(1 + 150 * number, 150 + 150 * number, at=2 + number, each_s=0.006, loss=value)
        for number, value in enumerate(values)
    ]
    return [StepsEnded(**{**group.__dict__, "epoch": number // 3}) for number, group in enumerate(groups)]


def flat(count: int = 24, level: float = LEVEL) -> list[float]:
    return [level + 0.05] + [level + NOISE[number % len(NOISE)] for number in range(count)]


def run(values: list[float], *events: Event) -> object:
    return loss_not_falling.examine(
        journal(started(), inside(), fit(), weights(5, 100, changed=("a",)), *losses(*values), *events)
    )


def test_found_at_the_level_of_guessing() -> None:
    verdict = run(flat(), guessing())
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "guessing gives 1.792" in verdict.summary


def test_clear_when_it_falls_slowly() -> None:
    """A contrastive loss starts at log(n) and leaves it slowly."""
    assert isinstance(run([LEVEL * (1 - 0.0008 * number) for number in range(25)], guessing()), Clear)


def test_clear_when_it_is_better_than_guessing() -> None:
    assert isinstance(run(flat(level=0.785), guessing(math.log(3))), Clear)


def test_clear_after_a_plateau() -> None:
    assert isinstance(run(flat(10) + [LEVEL * 0.9**number for number in range(14)], guessing()), Clear)


def test_clear_when_several_losses_take_turns() -> None:
    assert isinstance(run(flat(), guessing(), seen("turns", 2)), Clear)


def test_clear_too_early() -> None:
    assert isinstance(run(flat(8), guessing()), Clear)


def test_clear_when_weights_do_not_change() -> None:
    frozen = journal(started(), inside(), fit(), weights(5, 100, unchanged=("a",)), *losses(*flat()), guessing())
    assert isinstance(loss_not_falling.examine(frozen), Clear)


def test_unknown_when_the_level_is_that_of_an_earlier_fit() -> None:
    """The loss of this one may be of another kind altogether."""
    earlier = journal(started(), inside(), fit(0.2), seen("guessing", 0.5, loss="classes", level=LEVEL, labels=99, classes=6))
    later = journal(*earlier.all(), fit(), weights(5, 100, changed=("a",)), *losses(*flat()))
    assert isinstance(loss_not_falling.examine(later), Unknown)


def test_found_in_ones_own_loop_that_begins_anew() -> None:
    """It is told of once, not at each begin."""
    events = (fit(0.2, api="own_loop"), seen("guessing", 0.5, loss="classes", level=LEVEL, labels=99, classes=6))
    later = (fit(api="own_loop"), weights(5, 100, changed=("a",)), *losses(*flat()))
    assert isinstance(loss_not_falling.examine(journal(started(), inside(), *events, *later)), Found)
    after_a_fit = (fit(0.1), seen("guessing", 0.15, loss="classes", level=LEVEL, labels=99, classes=6), fit(0.2, api="own_loop"))
    assert isinstance(loss_not_falling.examine(journal(started(), inside(), *after_a_fit, *later)), Unknown)


def test_unknown_when_weights_come_with_the_batches() -> None:
    """What guessing gives then hangs on the weights; weights of 1 are none."""
    assert isinstance(run(flat(), guessing(), batch(array("weight", min=0.2, max=5.0))), Unknown)
    assert isinstance(run(flat(), guessing(), batch(array("weight", min=1.0, max=1.0))), Found)


def test_unknown_without_the_level_of_guessing() -> None:
    assert isinstance(run(flat()), Unknown)
    assert isinstance(loss_not_falling.examine(journal(started())), Unknown)
