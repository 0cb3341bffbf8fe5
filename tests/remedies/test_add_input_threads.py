"""More threads, where the stage times call for them."""

from tests.remedies.builders import began, fault, host, measured, steps
from unstall.remedies.add_input_threads import plan
from unstall.remedies.plan import Kind


def test_workers_that_wait_for_the_storage_are_doubled() -> None:
    planned = plan(fault(Kind.STARVED, began(), steps(0.5), measured(read_s=30, decode_s=5), host(cpu_cores=8)))
    assert planned is not None
    assert planned.change == {"num_input_workers": 8}
    assert planned.verify.wait_below_s == 0.8 * 0.5  # of the half second that each step waited


def test_workers_that_compute_become_as_many_as_there_are_cores_if_cores_idle() -> None:
    planned = plan(fault(Kind.STARVED, began(), steps(0.5), measured(read_s=1, decode_s=30), host(cpu_cores=4), cores=8))
    assert planned is not None
    assert planned.change == {"num_input_workers": 8}


def test_where_all_cores_are_busy_more_workers_do_not_help() -> None:
    assert plan(fault(Kind.STARVED, began(), steps(0.5), measured(read_s=1, decode_s=30), host(cpu_cores=7.5), cores=8)) is None


def test_without_stage_times_nothing_is_changed() -> None:
    assert plan(fault(Kind.STARVED, began(), steps(0.5), host())) is None


def test_there_is_a_most() -> None:
    waiting = measured(read_s=30, decode_s=5, workers=64)
    assert plan(fault(Kind.STARVED, began(), steps(0.5), waiting, host(), cores=8)) is None
