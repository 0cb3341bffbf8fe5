"""Memory that somebody else may have: after a while the run goes on, and after the longest wait no more."""

from tests.remedies.builders import began, fault, made
from unstall.remedies.plan import Kind, Verb
from unstall.remedies.wait_for_memory import WAITS_S, plan

HOST = Kind.HOST_MEMORY


def test_it_changes_nothing_but_the_time() -> None:
    planned = plan(fault(HOST))
    assert planned is not None
    assert (planned.verb, planned.change, planned.undo, planned.wait_s) == (Verb.RESUME, {}, {}, WAITS_S[0])


def test_without_a_checkpoint_it_begins_again() -> None:
    planned = plan(fault(HOST, checkpoints=()))
    assert planned is not None
    assert planned.verb is Verb.RESTART


def test_at_the_same_place_it_waits_longer_each_time_and_then_no_more() -> None:
    here = made("wait_for_memory", HOST, step=100)
    smaller = made("shrink_micro_batch", HOST, step=100)  # what was tried before takes no chance away
    waits = []
    for times in range(len(WAITS_S)):
        planned = plan(fault(HOST, plans=(smaller, smaller, *[here] * times)))
        assert planned is not None
        waits.append(planned.wait_s)
    assert tuple(waits) == WAITS_S == tuple(sorted(WAITS_S))
    assert plan(fault(HOST, plans=(*[here] * len(WAITS_S),))) is None


def test_progress_gives_new_chances() -> None:
    earlier = made("wait_for_memory", HOST, step=90)
    planned = plan(fault(HOST, plans=(earlier,) * 3))
    assert planned is not None
    assert planned.wait_s == WAITS_S[0]


def test_on_cores_the_memory_of_the_device_is_that_of_the_host_and_on_a_card_it_is_not() -> None:
    assert plan(fault(Kind.DEVICE_MEMORY, began("cpu"))) is not None
    assert plan(fault(Kind.DEVICE_MEMORY, began("gpu:0"))) is None
