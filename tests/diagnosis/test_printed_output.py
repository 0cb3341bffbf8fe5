"""What causes make of the losses that a program printed, where no hook sees them."""

from __future__ import annotations

from dataclasses import replace

from tests.diagnosis.builders import T0, started, steps
from unstall.diagnosis import printed_output
from unstall.diagnosis.causes import learning_rate_too_high, loss_not_falling, loss_not_finite
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event, LossPrinted, ProgramStarted, ProgressPrinted
from unstall.journal.reader import Journal


def loss(value: float | None, step: int | None, at: float, epoch: float | None = None, **more: object) -> LossPrinted:
    shown = "nan" if value is None else f"{value:g}"
    event = LossPrinted(
        at=T0 + at, stream="stdout", style="pairs", name="loss", value=value, is_finite=value is not None, mean=value, step=step,
        epoch=epoch, first_at=T0 + at, readings=1, not_finite=int(value is None), moments=1, line=f"step {step} loss: {shown}",
    )  # fmt: skip
    return replace(event, **more)  # type: ignore[arg-type]


def journal(*events: Event) -> Journal:
    return Journal([started("bash train.sh"), *events])


def test_a_loss_printed_as_nan_again_and_again_is_found_with_its_line() -> None:
    verdict = loss_not_finite.examine(journal(loss(0.5, 1, 1), *(loss(None, step, step) for step in range(2, 6))))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "NaN since step 2, or shortly before, after 0.5 before" in verdict.summary
    assert any("step 5 loss: nan" in evidence.claim for evidence in verdict.evidence)
    assert any("step 2 loss: nan" in evidence.claim for evidence in verdict.evidence)


def test_it_is_certain_where_a_framework_prints_it_beyond_an_epoch() -> None:
    """The mean of an epoch is spoilt by one bad batch; that of the next is not."""
    one_epoch = [loss(None, step, step, epoch=1, style="keras") for step in range(2, 9)]
    verdict = loss_not_finite.examine(journal(*one_epoch))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    verdict = loss_not_finite.examine(journal(*one_epoch, loss(None, 1, 10, epoch=2, style="keras")))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN


def test_a_nan_that_is_followed_by_numbers_is_none() -> None:
    assert not isinstance(
        loss_not_finite.examine(journal(*(loss(None, step, step) for step in range(1, 9)), loss(0.5, 9, 9))), Found
    )


def test_a_nan_before_the_first_step_is_none() -> None:
    assert not isinstance(loss_not_finite.examine(journal(*(loss(None, 0, at) for at in range(1, 9)))), Found)


def test_lines_that_came_all_at_once_are_unknown() -> None:
    """The log of another run that is shown, or a program that holds its output back."""
    shown = [loss(None, 1, 1.0), loss(None, 500, 1.4, readings=499, not_finite=499)]
    assert isinstance(loss_not_finite.examine(journal(*shown)), Unknown)


def test_lines_without_a_step_need_more_of_them() -> None:
    some = [loss(None, None, at) for at in range(1, 5)]
    assert isinstance(loss_not_finite.examine(journal(*some)), Unknown)
    assert isinstance(loss_not_finite.examine(journal(*some, loss(None, None, 5))), Found)


def test_parts_of_a_loss_do_not_count_where_the_loss_itself_is_printed() -> None:
    parts = [loss(None, step, step + 0.5, name="d_loss", is_total=False) for step in range(1, 9)]
    assert not isinstance(loss_not_finite.examine(journal(*(loss(0.5, step, step) for step in range(1, 9)), *parts)), Found)
    assert isinstance(loss_not_finite.examine(journal(*parts)), Found)


def test_where_a_hook_sees_the_loss_what_is_printed_is_not_asked() -> None:
    seen = [ProgramStarted(at=T0), steps(0, 9, at=3, loss=0.5)]
    verdict = loss_not_finite.examine(journal(*seen, *(loss(None, step, step) for step in range(2, 9))))
    assert isinstance(verdict, Clear)


def test_where_hooks_see_steps_and_no_loss_what_is_printed_is_read() -> None:
    seen = [ProgramStarted(at=T0), steps(0, 9, at=3)]
    assert isinstance(loss_not_finite.examine(journal(*seen, *(loss(None, step, step) for step in range(2, 9)))), Found)


def test_nothing_printed_leaves_it_unknown_as_before() -> None:
    assert isinstance(loss_not_finite.examine(journal()), Unknown)


def test_a_loss_that_grows_without_end_makes_a_rate_that_is_too_high_possible() -> None:
    grown = [loss(10.0**step, step, step) for step in range(12)]
    verdict = learning_rate_too_high.examine(journal(*grown))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.POSSIBLE
    assert "where it began at 10" in verdict.summary


def test_a_loss_that_leaps_once_and_one_that_comes_down_again_say_nothing() -> None:
    one_leap = [loss(1e9 if step == 6 else 1.0, step, step) for step in range(12)]
    falls = [loss(value, step, step) for step, value in enumerate([1.0] * 4 + [1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3])]
    for events in (one_leap, falls):
        assert not isinstance(learning_rate_too_high.examine(journal(*events)), Found)


def at_level(level: float, count: int = 40) -> list[Event]:
    wobble = [level * (1 + 0.002 * (-1) ** number) for number in range(count)]
    of_losses: list[Event] = [loss(value, 100 * number, number, epoch=number // 5) for number, value in enumerate(wobble)]
    return [*of_losses, ProgressPrinted(at=T0 + count, step=100, epoch=8, steps=4000)]


def test_a_loss_at_the_level_of_guessing_from_beginning_to_end_does_not_fall() -> None:
    verdict = loss_not_falling.examine(journal(*at_level(2.3026)))
    assert isinstance(verdict, Found)
    assert "guessing among 10 classes" in verdict.summary
    verdict = loss_not_falling.examine(journal(*at_level(0.6931)))
    assert isinstance(verdict, Found)
    assert "guessing among 2 classes" in verdict.summary


def test_a_loss_that_stands_elsewhere_or_falls_a_little_is_not_judged() -> None:
    assert not isinstance(loss_not_falling.examine(journal(*at_level(0.9))), Found)
    assert not isinstance(loss_not_falling.examine(journal(*at_level(2.3026, count=10))), Found)
    falling = [replace(event, mean=2.3026 * (1 - 0.0004 * number)) if isinstance(event, LossPrinted) else event
               for number, event in enumerate(at_level(2.3026))]  # fmt: skip
    assert not isinstance(loss_not_falling.examine(journal(*falling)), Found)


def test_the_losses_are_those_of_the_stream_that_told_last() -> None:
    events = journal(loss(0.5, 1, 1, stream="stderr"), loss(0.4, 2, 2), loss(0.3, 3, 3))
    assert [event.value for event in printed_output.read_printed_losses(events)] == [0.4, 0.3]


def _epochs(*printed: tuple[float, int | None]) -> Journal:
    events = [ProgressPrinted(at=T0 + at, epoch=epoch, epochs=epochs) for at, (epoch, epochs) in enumerate(printed, 1)]
    return journal(*events)


def test_the_epoch_is_read_from_what_is_printed_from_whatever_number_that_counts() -> None:
    assert printed_output.read_printed_epoch(_epochs((1, 12), (2, 12))) == (1, 12)
    assert printed_output.read_printed_epoch(_epochs((0, 12), (2, 12))) == (2, 12)
    assert printed_output.read_printed_epoch(_epochs((7, 12), (12, 12))) == (11, 12)


def test_no_epoch_is_read_where_it_is_not_known_from_where_it_counts_or_parts_are_printed() -> None:
    assert printed_output.read_printed_epoch(_epochs()) is None
    assert printed_output.read_printed_epoch(_epochs((1, None), (2, None))) is None
    assert printed_output.read_printed_epoch(_epochs((7, 12), (8, 12))) is None
    assert printed_output.read_printed_epoch(_epochs((0.5, 3), (1.25, 3))) is None
