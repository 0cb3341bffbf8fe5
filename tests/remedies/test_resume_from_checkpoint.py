"""The run goes on; a fault that comes back at the same place is no accident."""

from tests.remedies.builders import T0, fault, made
from unstall.journal.events import ErrorRaised
from unstall.remedies.plan import Kind, Verb
from unstall.remedies.resume_from_checkpoint import plan


def test_it_goes_on_from_the_newest_checkpoint_and_changes_nothing() -> None:
    planned = plan(fault(Kind.DIED))
    assert planned is not None
    assert (planned.verb, planned.change, planned.undo) == (Verb.RESUME, {}, {})
    assert "80" in planned.why


def test_without_a_checkpoint_it_begins_again() -> None:
    planned = plan(fault(Kind.STUCK, checkpoints=()))
    assert planned is not None
    assert planned.verb is Verb.RESTART


def test_the_third_time_at_the_same_place_it_stops() -> None:
    here = made("resume_from_checkpoint", Kind.STUCK, step=100)
    assert plan(fault(Kind.STUCK, plans=(here,))) is not None
    assert plan(fault(Kind.STUCK, plans=(here, here))) is None


def test_progress_gives_new_chances() -> None:
    earlier = made("resume_from_checkpoint", Kind.STUCK, step=90)
    assert plan(fault(Kind.STUCK, plans=(earlier, earlier, earlier))) is not None


def test_an_error_that_python_raised_is_tried_once_more_only() -> None:
    error = ErrorRaised(at=T0, kind="ValueError", fatal=True)
    here = made("resume_from_checkpoint", Kind.DIED, step=100)
    assert plan(fault(Kind.DIED, error)) is not None
    assert plan(fault(Kind.DIED, error, plans=(here,))) is None
