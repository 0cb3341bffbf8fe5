"""Applying a plan and undoing it gives the same settings; when a plan is seen to have helped."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.remedies.builders import T0, began, fault, host, made, measured, steps
from unstall.config.settings import GIB, MIB, Settings
from unstall.journal.events import CheckpointCompleted, LossDiverged, StepsEnded, TrainingBegan, TrainingEnded, UpdateSkipped
from unstall.journal.reader import Journal
from unstall.remedies import find_remedies
from unstall.remedies.plan import Fault, Kind, Sign, find_step_reached, measure_wait_share

EVENTS = (
    began("cpu"), steps(0.5), measured(read_s=30, decode_s=30), host(cpu_cores=1), LossDiverged(at=T0, since_step=60, loss=9.0),
    UpdateSkipped(at=T0, rows=[1, 2], in_a_row=1), UpdateSkipped(at=T0, rows=[2, 3], in_a_row=1),
)  # fmt: skip


@st.composite
def some_settings(draw: st.DrawFn) -> Settings:
    batch_size = draw(st.integers(1, 64))
    divisors = [number for number in range(1, batch_size + 1) if batch_size % number == 0]
    return Settings(
        batch_size=batch_size,
        micro_batch_size=draw(st.none() | st.sampled_from(divisors)),
        remat=draw(st.booleans()),
        learning_rate=draw(st.floats(1e-6, 1.0)),
        num_input_workers=draw(st.integers(0, 16)),
        prefetch_bytes=draw(st.integers(MIB, GIB)),
        cache_bytes=draw(st.sampled_from([0, GIB])),
        exclude_examples=tuple(draw(st.sets(st.integers(0, 40), max_size=4))),
    )


@given(kind=st.sampled_from(Kind), settings=some_settings())
def test_applying_and_undoing_gives_identical_settings(kind: Kind, settings: Settings) -> None:
    found = replace(fault(kind, *EVENTS), settings=settings)
    plans = [planned for module in find_remedies(kind) if (planned := module.plan(found)) is not None]
    for planned in plans:
        applied = planned.applied_to(settings)
        assert applied != settings or not planned.change
        assert planned.undo_in(applied) == settings


# --- signs ---


def test_a_run_goes_on_counting_where_it_was_resumed() -> None:
    ten = StepsEnded(at=T0, first=0, last=9)
    assert find_step_reached(Journal([TrainingBegan(at=T0, from_step=80), ten])) == 90
    assert find_step_reached(Journal([TrainingBegan(at=T0, from_step=80), CheckpointCompleted(at=T0, step=95), ten])) == 95
    assert find_step_reached(Journal()) == 0


def after(loss: float | None, wait_s: float = 1.0) -> Journal:
    return Journal(
        [TrainingBegan(at=T0, from_step=80), StepsEnded(at=T0, first=0, last=39, seconds=10.0, wait_s=wait_s, loss=loss)]
    )


def test_it_has_helped_when_the_training_is_past_the_fault() -> None:
    assert Sign(past_step=100).is_seen(after(1.0))
    assert not Sign(past_step=120).is_seen(after(1.0))


def test_it_has_helped_when_the_training_is_done() -> None:
    """After a fault in the last step there is no step to get past it."""
    done = [TrainingEnded(at=T0, step=100, exit_name="done")]
    assert Sign(past_step=100).is_seen(Journal([TrainingBegan(at=T0, from_step=80), *done]))
    assert not Sign(past_step=100, loss_below=1.0).is_seen(Journal(done))


def test_a_lower_rate_has_helped_when_the_loss_is_finite_and_below() -> None:
    assert Sign(100, loss_below=5.0).is_seen(after(1.0))
    assert not Sign(100, loss_below=5.0).is_seen(after(7.0))
    assert not Sign(100, loss_below=5.0).is_seen(after(None))


def test_faster_input_has_helped_when_steps_wait_less() -> None:
    """By the seconds for each of the 40 steps: twice as fast and still starved waits for nearly all of the time, as before."""
    assert Sign(100, wait_below_s=0.2).is_seen(after(1.0, wait_s=6.0))
    assert not Sign(100, wait_below_s=0.2).is_seen(after(1.0, wait_s=9.9))


def test_no_share_of_the_time_is_more_than_all_of_it() -> None:
    assert measure_wait_share([StepsEnded(at=T0, first=0, last=0, seconds=0.1, wait_s=3.0)]) == 1.0


# --- places ---


def of(*steps_: int) -> Fault:
    return fault(Kind.STUCK, step=100, plans=tuple(made("resume_from_checkpoint", Kind.STUCK, step=step) for step in steps_))


def test_a_place_is_the_same_until_the_run_has_got_further() -> None:
    assert of().count_attempts_at_place() == 0
    assert of(100, 100).count_attempts_at_place() == 2
    assert of(100, 110).count_attempts_at_place() == 2  # it did not even get as far again
    assert of(100, 99).count_attempts_at_place() == 0
    assert of(99, 100).count_attempts_at_place() == 1


def test_a_worker_that_dies_before_it_has_begun_is_at_no_place_that_the_run_got_past() -> None:
    plans = tuple(
        made("resume_from_checkpoint", Kind.DIED, step=step, attempt=attempt) for attempt, step in ((1, 50), (2, 80), (3, 0))
    )
    at_the_start = fault(Kind.DIED, step=0, plans=plans)
    assert at_the_start.count_attempts_at_place() == 3
    assert replace(at_the_start, helped=frozenset({1, 2})).count_attempts_at_place() == 1
    assert replace(at_the_start, helped=frozenset({1, 2, 3})).count_attempts_at_place() == 0
